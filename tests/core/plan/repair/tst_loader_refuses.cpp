// SPDX-License-Identifier: Apache-2.0
// What stock DeepSpeed's loaders would refuse is not published, whatever the source is.
#include "core/engine/write/execute.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/damages.h"

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

TEST_CASE("a job whose output stock would refuse names the loader's check and publishes nothing")
{
    const Patchable hurt("zero2-w2");
    hurt.operateOnAll("model_states.pt", [](Surgery& surgery) { surgery.remove({}, "skipped_steps"); });
    ReshardOptions options;
    options.worldSize = 3;
    const auto plan = planFor(openForPlan(io::Path(hurt.tag().string())), options);
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    ExecuteOptions execution;
    execution.destination = folder / "out";
    execution.sourceRunFolder = hurt.run();
    JobContext job;
    const auto report = execute(io::realFileSystem(), *plan, execution, job);
    REQUIRE(!report);
    CAPTURE(describe(report.error()));
    CHECK(report.error().code == ErrorCode::VerifyFailed);
    CHECK(report.error().message.find("loader check 9 (skipped-steps)") != std::string::npos);
    CHECK(!fs::exists(folder / "out" / hurt.tag().filename()));
    CHECK(!fs::exists(folder / "out" / "latest"));
}
