// SPDX-License-Identifier: Apache-2.0
// Which backend is taken, and that the rest of the program gives the same bytes with any.
#include "core/compute/calibration.h"
#include "core/compute/compute_choice.h"
#include "tests/core/compute/backends.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

using namespace shardscope;
using namespace shardscope::test;
using Kind = DeviceAsked::Kind;

namespace {

std::string contentOf(const std::filesystem::path& file)
{
    std::ifstream stream(file);
    std::ostringstream out;
    out << stream.rdbuf();
    return out.str();
}

Result<ComputeChoice> choose(const char* device, uint64_t bytes, const std::filesystem::path& memory = {})
{
    const auto asked = parseDevice(device);
    REQUIRE(asked);
    return chooseCompute(*asked, {ComputeTask::Statistics, bytes, 2}, io::realFileSystem(), memory);
}

} // namespace

TEST_CASE("values of --device")
{
    CHECK(parseDevice("auto")->kind == Kind::Auto);
    CHECK(parseDevice("cpu")->kind == Kind::Cpu);
    CHECK(parseDevice("cpu:plain")->kind == Kind::Plain);
    CHECK(parseDevice("cpu:torch")->kind == Kind::Torch);
    CHECK(parseDevice("cuda")->kind == Kind::Cuda);
    CHECK(!parseDevice("cuda")->cuda.gpu);
    CHECK(parseDevice("cuda:12")->cuda.gpu == 12);
    for (const char* wrong :
        {"", "gpu", "CUDA", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cuda1", "cpu:", "cuda:99999999999"}) {
        CAPTURE(wrong);
        const auto asked = parseDevice(wrong);
        REQUIRE(!asked);
        CHECK(asked.error().code == ErrorCode::Usage);
    }
}

TEST_CASE("for small work no module is loaded and nothing is measured")
{
    const TemporaryFolder folder;
    const auto memory = folder.path() / "rates.txt";
    const auto choice = choose("auto", kWorthMeasuring - 1, memory);
    REQUIRE(choice);
    CHECK(choice->backend.get() == &plainBackend());
    CHECK(choice->reason.find("less than 2.0 GiB") == 0);
    CHECK(!std::filesystem::exists(memory));
}

TEST_CASE("a measurement is stored, and decides the next choice")
{
    const TemporaryFolder folder;
    const auto memory = folder.path() / "cache" / "rates.txt";
    const auto first = choose("cpu", uint64_t{1} << 40, memory);
    REQUIRE(first);
    CHECK(first->reason.find("measured: plain code ") == 0);
    CHECK(first->backend->device() == "cpu");
    const std::string kept = contentOf(memory);
    CHECK(kept.find(" statistics 2 plain code 1\n") != std::string::npos);

    // Stored figures are trusted even if they say otherwise.
    std::string slow = kept;
    for (size_t at = 0; at < slow.size(); at = slow.find('\n', at) + 1) {
        const size_t end = slow.find(' ', at);
        const bool plain = slow.compare(end, 23, " statistics 2 plain cod") == 0;
        slow.replace(at, end - at, plain ? "1000" : "1e12");
    }
    std::ofstream(memory) << slow;
    const auto second = choose("cpu", uint64_t{1} << 40, memory);
    REQUIRE(second);
    if (wasBuilt("shardscope_torch")) {
        CHECK(second->backend->name().starts_with("LibTorch"));
        CHECK(second->reason.find("plain code 1,000 B/s") == std::string::npos);
        CHECK(second->reason.find("LibTorch ") != std::string::npos);
    } else {
        CHECK(second->backend.get() == &plainBackend());
        CHECK(second->reason.find("LibTorch cannot be used") != std::string::npos);
    }
    CHECK(contentOf(memory) == slow); // nothing was measured again
}

TEST_CASE("what takes longer to load than the work itself is not loaded or measured")
{
    const TemporaryFolder folder;
    const auto memory = folder.path() / "rates.txt";
    const std::string kept = "1e11 statistics 2 plain code 1\n";
    std::ofstream(memory) << kept;
    const auto choice = choose("auto", uint64_t{10} << 30, memory);
    REQUIRE(choice);
    CHECK(choice->backend.get() == &plainBackend());
    CHECK(choice->reason.find("LibTorch would take longer to load, CUDA would take longer to load")
        != std::string::npos);
    CHECK(contentOf(memory) == kept);
}

TEST_CASE("a damaged or unwritable store of measurements is not an error")
{
    const TemporaryFolder folder;
    const auto file = folder.path() / "rates.txt";
    std::ofstream(file) << "nonsense\n-5 a\n1e9 b c\n\n1e9\nnan d\n";
    RateMemory memory(io::realFileSystem(), file);
    CHECK(memory.find("b c") == 1e9);
    CHECK(!memory.find("a"));
    CHECK(!memory.find("d"));
    memory.keep("e", 2.5);
    CHECK(RateMemory(io::realFileSystem(), file).find("e") == 2.5);
    RateMemory nowhere(io::realFileSystem(), file / "below" / "a file");
    nowhere.keep("x", 1);
    CHECK(nowhere.find("x") == 1);
    CHECK(measuredRate(plainBackend(), ComputeTask::Transform, 2) > 0);
    CHECK(measuredRate(plainBackend(), ComputeTask::Comparison, 1) > 0);
}

TEST_CASE("a device that is requested by name is used, or refused by name")
{
    CHECK(choose("cpu:plain", uint64_t{1} << 50)->reason == "asked for");
    const auto torch = choose("cpu:torch", 1);
    CHECK(torch.has_value() == wasBuilt("shardscope_torch"));
    const auto cuda = choose("cuda:77", 1);
    REQUIRE(!cuda);
    CHECK(cuda.error().code == ErrorCode::Unsupported);
    CHECK(cuda.error().message.find("CUDA cannot be used: ") == 0);
    CHECK(!cuda.error().hint.text.empty());
}
