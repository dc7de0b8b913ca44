// SPDX-License-Identifier: Apache-2.0
// One rank's file truncated, overwritten or flipped: reported, refused, and never read as if it were whole.
#include "tests/hostile/hostile_fixture.h"

#include "core/checkpoint/model/require.h"
#include "core/engine/verify/verify.h"
#include "core/torchfile/torch_file.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

const std::string kOptim1 = "global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";
const std::string kModel = "global_step6/mp_rank_00_model_states.pt";

std::shared_ptr<const TorchFile> openTorch(const fs::path& file)
{
    JobContext job;
    auto opened = TorchFile::open(io::realFileSystem(), file, ReadMode::Strict, job);
    REQUIRE(opened.has_value());
    return *opened;
}

const ZipRecord& recordAt(const TorchFile& file, const std::string& name)
{
    const auto found = file.zip().find(name);
    REQUIRE(found.has_value());
    return file.zip().records()[*found];
}

bool refused(const Checkpoint& checkpoint)
{
    const Status complete = requireComplete(checkpoint);
    return !complete && complete.error().code == ErrorCode::Refused;
}

/// Where the parts of a torch file begin: lengths to cut at.
std::vector<std::pair<std::string, uint64_t>> cutsOf(const fs::path& path)
{
    const auto file = openTorch(path);
    const ZipRecord& pickle = recordAt(*file, "data.pkl");
    const ZipRecord& payload = recordAt(*file, "data/0");
    const uint64_t bytes = fs::file_size(path);
    JobContext job;
    const auto reader = io::realFileSystem().openRead(path);
    const auto end = ZipDirectory::readEnd(**reader);
    REQUIRE(end.has_value());
    return {{"nothing", 0}, {"three bytes", 3}, {"inside the first header", 20},
        {"inside the pickle", pickle.payloadOffset + pickle.bytes / 2},
        {"after the pickle", pickle.payloadOffset + pickle.bytes},
        {"inside a local header", payload.headerOffset + 10},
        {"inside a payload", payload.payloadOffset + payload.bytes / 2},
        {"inside a data descriptor", payload.payloadOffset + payload.bytes + 5},
        {"before the directory", end->directoryOffset}, {"inside the directory", end->directoryOffset + 70},
        {"before the zip64 end", end->directoryOffset + end->directoryBytes},
        {"inside the zip64 end", end->directoryOffset + end->directoryBytes + 30},
        {"inside the locator", bytes - 30}, {"inside the end record", bytes - 10}, {"last byte", bytes - 1}};
}

} // namespace

TEST_CASE("an optimizer file is truncated")
{
    for (const auto& [name, length] : cutsOf(samplePath("zero2-w2") / kOptim1)) {
        CAPTURE(name);
        const TemporaryFolder folder;
        const fs::path run = copySample("zero2-w2", folder);
        fs::resize_file(run / kOptim1, length);
        checkRow(run, kOneFileBad, "file-torn", folder);
    }
}

TEST_CASE("a truncated file leaves no param groups, and the other checkpoint has none with options")
{
    const TemporaryFolder folder;
    const std::string name = "ds045-zero2-w3"; // elastic: no options of param groups
    const fs::path run = copySample(name, folder);
    fs::resize_file(run / "global_step7/zero_pp_rank_1_mp_rank_00_optim_states.pt", 1000);
    const ProcessResult verified
        = runProcess({programPath(), "verify", run, "--against", samplePath(name), "--json"});
    CHECK(verified.exitCode == 1);
    CHECK(Json::parse(verified.out)["ok"] == false);
}

TEST_CASE("the only model file is truncated")
{
    for (const auto& [name, length] : cutsOf(samplePath("zero2-w2") / kModel)) {
        CAPTURE(name);
        const TemporaryFolder folder;
        const fs::path run = copySample("zero2-w2", folder);
        fs::resize_file(run / kModel, length);
        // If the pickle is complete, names and shapes are available even if the directory is lost.
        const auto opened = openFull(run);
        REQUIRE(opened.has_value());
        const bool readable = !(*opened)->modelError;
        checkRow(run, readable ? kOneFileBad : kModelUnreadable, "file-torn", folder);
    }
}

TEST_CASE("truncation at any length is an error finding and a refusal")
{
    const std::string whole = slurp(samplePath("zero2-w2") / kOptim1);
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    for (size_t length = 0; length < whole.size(); length += length < 200 ? 1 : 61) {
        CAPTURE(length);
        spill(run / kOptim1, whole.substr(0, length));
        const auto opened = openFull(run);
        REQUIRE(opened.has_value());
        CHECK(!(*opened)->complete);
        CHECK(refused(**opened));
    }
}

TEST_CASE("the directory is destroyed")
{
    const auto reader = io::realFileSystem().openRead(samplePath("zero2-w2") / kOptim1);
    const auto end = ZipDirectory::readEnd(**reader);
    REQUIRE(end.has_value());
    const std::string whole = slurp(samplePath("zero2-w2") / kOptim1);
    struct Damage {
        const char* name;
        uint64_t begin;
        uint64_t end;
        char with;
    };
    const uint64_t directoryEnd = end->directoryOffset + end->directoryBytes;
    for (const Damage& damage : {Damage{"zeros in the directory", end->directoryOffset, directoryEnd, '\0'},
             Damage{"ones in the directory", end->directoryOffset, directoryEnd, '\xff'},
             Damage{"its first entry", end->directoryOffset, end->directoryOffset + 46, 'x'},
             Damage{"the end records", directoryEnd, whole.size(), '\0'},
             Damage{"the second half of the file", whole.size() / 2, whole.size(), '\0'}}) {
        CAPTURE(std::string(damage.name));
        const TemporaryFolder folder;
        const fs::path run = copySample("zero2-w2", folder);
        std::string bytes = whole;
        std::fill(bytes.begin() + static_cast<ptrdiff_t>(damage.begin),
            bytes.begin() + static_cast<ptrdiff_t>(damage.end), damage.with);
        spill(run / kOptim1, bytes);
        checkRow(run, kOneFileBad, "file-", folder);
    }
}

TEST_CASE("an archive with another archive after it, junk before it, or bytes after it")
{
    const std::string whole = slurp(samplePath("zero2-w2") / kOptim1);
    for (const auto& [name, bytes] :
        std::vector<std::pair<std::string, std::string>>{{"twice", whole + whole},
            {"junk in front", "junk" + whole}, {"html in front", "<html></html>" + whole}}) {
        const std::string word = name == "html in front" ? "foreign-file" : "file-";
        CAPTURE(name);
        const TemporaryFolder folder;
        const fs::path run = copySample("zero2-w2", folder);
        spill(run / kOptim1, bytes);
        checkRow(run, kOneFileBad, word, folder);
    }
}

TEST_CASE("a flipped payload byte: inspect opens, verify finds it, nothing is written from it")
{
    for (const std::string& name : {kOptim1, kModel}) {
        CAPTURE(name);
        const TemporaryFolder folder;
        const fs::path run = copySample("zero2-w2", folder);
        const auto file = openTorch(run / name);
        const ZipRecord& record = recordAt(*file, "data/1");
        std::string bytes = slurp(run / name);
        bytes[record.payloadOffset] ^= 0x40;
        spill(run / name, bytes);
        runVerb({"inspect", run}, 0);
        runVerb({"params", run}, 0);
        const Json verified = runVerb({"verify", run}, 1);
        REQUIRE(verified.at("problems").size() == 1);
        CHECK(verified.at("problems")[0].at("code") == "record-corrupt");
        CHECK(verified.at("problems")[0].at("where") == fs::path(name).filename().string() + "!data/1+0");
        const Json error = runVerb({"reshard", run, folder / "out", "-w", "3"}, 6);
        CHECK(error.at("message").get<std::string>().find("data/1") != std::string::npos);
        CHECK((!fs::exists(folder / "out") || fs::is_empty(folder / "out")));
    }
}

TEST_CASE("a wrong CRC of the pickle itself")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const auto file = openTorch(run / kOptim1);
    const ZipRecord& record = recordAt(*file, "data.pkl");
    std::string bytes = slurp(run / kOptim1);
    // The first letter of a key: the stream still parses, with another key.
    const size_t at = bytes.find("partition_count", record.payloadOffset);
    REQUIRE(at < record.payloadOffset + record.bytes);
    bytes[at] = 'P';
    spill(run / kOptim1, bytes);
    checkRow(run, kOneFileBad, "data.pkl", folder);
}

TEST_CASE("one flipped bit anywhere: reported, or without any effect on what is read")
{
    const std::string whole = slurp(samplePath("zero2-w2") / kOptim1);
    const NamedRecords truth = recordsOf(samplePath("zero2-w2") / kOptim1);
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    size_t silent = 0;
    for (size_t at = 0; at < whole.size(); at += 37) {
        CAPTURE(at);
        std::string bytes = whole;
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
        spill(run / kOptim1, bytes);
        const auto opened = openFull(run);
        REQUIRE(opened.has_value());
        if (!(*opened)->complete)
            continue;
        JobContext job;
        const auto verified = verifyCheckpoint(io::realFileSystem(), *opened, {}, 1, job);
        REQUIRE(verified.has_value());
        if (!verified->ok)
            continue;
        ++silent; // time stamps, alignment padding, descriptors that the directory overrules
        CHECK(recordsOf(run / kOptim1) == truth);
    }
    CHECK(silent < whole.size() / 37);
}
