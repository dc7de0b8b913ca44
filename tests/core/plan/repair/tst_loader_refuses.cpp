// SPDX-License-Identifier: Apache-2.0
// Output that stock DeepSpeed's loaders would refuse is not published, for any source.
#include "core/engine/write/execute.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/damages.h"

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

TEST_CASE("a job whose output stock would refuse names the loader's check and publishes nothing")
{
    const Patchable damaged("zero2-w2");
    damaged.operateOnAll("model_states.pt", [](Surgery& surgery) { surgery.remove({}, "skipped_steps"); });
    ReshardOptions options;
    options.worldSize = 3;
    const auto plan = planFor(openForPlan(io::Path(damaged.tag().string())), options);
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    ExecuteOptions execution;
    execution.destination = folder / "out";
    execution.sourceRunFolder = damaged.run();
    JobContext job;
    const auto report = execute(io::realFileSystem(), *plan, execution, job);
    REQUIRE(!report);
    CAPTURE(describe(report.error()));
    CHECK(report.error().code == ErrorCode::VerifyFailed);
    CHECK(report.error().message.find("loader check 9 (skipped-steps)") != std::string::npos);
    CHECK(!fs::exists(folder / "out" / damaged.tag().filename()));
    CHECK(!fs::exists(folder / "out" / "latest"));
}
