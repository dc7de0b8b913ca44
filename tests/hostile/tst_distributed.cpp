// SPDX-License-Identifier: Apache-2.0
// Distributed checkpoints with wrong, malicious or truncated metadata or archives.
#include "core/plan/compose/archive_composer.h"
#include "core/plan/compose/literal_archive.h"
#include "core/torchfile/formats/dcp_metadata.h"
#include "core/torchfile/pickle/pickle_emitter.h"
#include "tests/hostile/hostile_fixture.h"
#include "tests/hostile/run_here.h"

#include <doctest/doctest.h>

#include <array>
#include <random>

using namespace shardscope;
using namespace shardscope::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// A sample, converted.
class Converted
{
public:
    Converted() { runVerb({"convert", samplePath("zero2-w2"), path(), "--to", "dcp"}, 0); }

    [[nodiscard]] fs::path path() const { return m_folder / "dcp"; }
    [[nodiscard]] fs::path metadata() const { return path() / ".metadata"; }
    [[nodiscard]] const TemporaryFolder& folder() const { return m_folder; }

    std::vector<DcpEntry> entries()
    {
        JobContext job;
        auto out = readDcpMetadata(io::realFileSystem(), path(), job);
        REQUIRE(out.has_value());
        return *out;
    }
    void write(const std::vector<DcpEntry>& entries) const { spill(metadata(), *dcpMetadataBytes(entries)); }
    /// The entry of that key, changed.
    void change(const std::string& key, const std::function<void(DcpEntry&)>& how)
    {
        auto all = entries();
        const auto found
            = std::find_if(all.begin(), all.end(), [&](const DcpEntry& entry) { return entry.key == key; });
        REQUIRE(found != all.end());
        how(*found);
        write(all);
    }

private:
    TemporaryFolder m_folder{TemporaryFolder::Where::Memory};
};

std::string archiveOf(ArchiveComposer& composer, NodeId root)
{
    auto archive = composer.finish(root, "archive", recordsOfToday());
    REQUIRE(archive.has_value());
    return *literalArchiveBytes(*archive);
}

constexpr const char* kMoment = "optim.state.norm.weight.exp_avg";

} // namespace

TEST_CASE("metadata that are torn or changed anywhere open or are refused, and nothing else happens")
{
    Converted converted;
    const std::string bytes = slurp(converted.metadata());
    const auto before = traceOf(converted.folder().path());
    const auto openOnce = [&](const std::string& changed) {
        spill(converted.metadata(), changed);
        const auto opened = openFull(converted.path());
        if (!opened)
            CHECK((opened.error().code == ErrorCode::Damaged || opened.error().code == ErrorCode::Hostile
                || opened.error().code == ErrorCode::NotACheckpoint
                || opened.error().code == ErrorCode::Unsupported
                || opened.error().code == ErrorCode::LimitExceeded));
    };
    for (size_t cut = 0; cut < bytes.size(); cut += 1 + bytes.size() / 60)
        openOnce(bytes.substr(0, cut));
    std::mt19937 random(3);
    for (int round = 0; round < 120; ++round) {
        std::string changed = bytes;
        for (int i = 0; i < 1 + round % 3; ++i)
            changed[random() % changed.size()] = static_cast<char>(random());
        openOnce(changed);
    }
    spill(converted.metadata(), bytes);
    CHECK(traceOf(converted.folder().path()).size() == before.size());
}

TEST_CASE("metadata that would run code in Python are refused, and run none")
{
    Converted converted;
    PickleBuilder attack;
    const std::string touch = "touch " + (converted.folder() / "ran").string();
    spill(converted.metadata(),
        *emitPickle(attack.finish(
            attack.reduce(attack.global("os", "system"), attack.tuple(std::array{attack.string(touch)})))));
    checkRow(converted.path(), kNothingHere, "hostile", converted.folder());
    CHECK_FALSE(fs::exists(converted.folder() / "ran"));
}

TEST_CASE("an object that would run code in Python is reported and not created")
{
    Converted converted;
    ArchiveComposer composer;
    PickleBuilder& builder = composer.builder();
    const std::string touch = "touch " + (converted.folder() / "ran").string();
    const std::string bytes = archiveOf(composer,
        builder.reduce(builder.global("os", "system"), builder.tuple(std::array{builder.string(touch)})));
    spill(converted.path() / "__0_x.distcp", bytes);
    converted.change("deepspeed.lr_scheduler", [&](DcpEntry& entry) {
        entry.place = {"__0_x.distcp", 0, bytes.size()};
    });
    fs::remove(converted.path() / "shardscope.json");
    checkRow(converted.path(), kOneFileBad, "file-hostile", converted.folder());
    CHECK_FALSE(fs::exists(converted.folder() / "ran"));
}

TEST_CASE("impossible places are reported")
{
    { // a part of the file is beyond its end
        Converted converted;
        converted.change(kMoment, [](DcpEntry& entry) { entry.chunks[0].place.offset = uint64_t{1} << 40; });
        checkRow(converted.path(), kOneFileBad, "beyond its end", converted.folder());
    }
    { // overlapping parts are not read: otherwise a small file could make the reader read without end
        Converted converted;
        auto all = converted.entries();
        const auto found = std::find_if(
            all.begin(), all.end(), [](const DcpEntry& entry) { return entry.key == kMoment; });
        DcpEntry other = *found;
        other.key = "optim.state.norm.weight.exp_avg_copy";
        other.path.clear();
        other.chunks[0].place.offset += 1;
        other.chunks[0].place.bytes -= 1;
        all.push_back(other);
        converted.write(all);
        checkRow(converted.path(), kOneFileBad, "overlap", converted.folder());
    }
    { // an archive in a record of another one, which ends before the next bytes that are read
        Converted converted;
        ArchiveComposer composer;
        const std::string inner = archiveOf(composer, composer.builder().integer(1));
        ArchiveComposer around;
        auto archive = around.finish(around.builder().integer(2), "archive", recordsOfToday());
        REQUIRE(archive.has_value());
        const std::string payload = inner + std::string(size_t{3} << 20, 'x');
        archive->records.push_back({"data/0", payload.size(), OutputRecord::Content::Literal, payload, {}});
        const std::string bytes = *literalArchiveBytes(*archive);
        spill(converted.path() / "__0_x.distcp", bytes);
        auto all = converted.entries();
        const auto found = std::find_if(all.begin(), all.end(),
            [](const DcpEntry& entry) { return entry.key == "deepspeed.lr_scheduler"; });
        REQUIRE(found != all.end());
        found->place = {"__0_x.distcp", 0, bytes.size()};
        DcpEntry other = *found;
        other.key = "deepspeed.other";
        other.path.clear();
        other.place = {"__0_x.distcp", bytes.find(inner), inner.size()};
        all.push_back(other);
        converted.write(all);
        checkRow(converted.path(), kOneFileBad, "overlap", converted.folder());
        runVerb({"check", converted.path(), "--depth", "bytes"}, 1);
        runVerb({"fingerprint", converted.path()}, 6);
    }
    { // another tensor's archive
        Converted converted;
        const auto all = converted.entries();
        const auto other = std::find_if(all.begin(), all.end(),
            [](const DcpEntry& entry) { return entry.key == "model.tok_embeddings.weight"; });
        converted.change(kMoment, [&](DcpEntry& entry) { entry.chunks[0].place = other->chunks[0].place; });
        checkRow(converted.path(), kOneFileBad, "not stored as the metadata record", converted.folder());
    }
    { // a file that is not there
        Converted converted;
        converted.change(kMoment, [](DcpEntry& entry) { entry.chunks[0].place.file = "__9_9.distcp"; });
        checkRow(converted.path(), kOneFileBad, "rank-missing", converted.folder());
    }
}

TEST_CASE("boxes that leave a hole, overlap or are out of range are refused")
{
    const auto refused = [](const std::function<void(DcpEntry&)>& how) {
        Converted converted;
        converted.change(kMoment, how);
        checkRow(converted.path(), kNothingHere, "damaged", converted.folder());
    };
    refused([](DcpEntry& entry) { entry.chunks.clear(); });
    refused([](DcpEntry& entry) { // as many elements as there are, twice the same half
        DcpChunk half = entry.chunks.front();
        half.sizes[0] /= 2;
        DcpChunk again = half;
        again.offsets[0] += 1;
        entry.chunks = {half, again};
    });
    refused([](DcpEntry& entry) {
        entry.shape = Shape(100'000, 1);
        entry.chunks[0].offsets = Shape(100'000, 0);
        entry.chunks[0].sizes = entry.shape;
    });
    refused([](DcpEntry& entry) {
        entry.shape = {uint64_t{1} << 40, uint64_t{1} << 40};
        entry.chunks[0].sizes = entry.shape;
        entry.chunks[0].offsets = {0, 0};
    });
}

TEST_CASE("many entries of one archive cost no more than one")
{
    Converted converted;
    auto all = converted.entries();
    const auto object = std::find_if(
        all.begin(), all.end(), [](const DcpEntry& entry) { return entry.key == "deepspeed.ds_config"; });
    REQUIRE(object != all.end());
    const DcpEntry one = *object;
    for (int i = 0; i < 20'000; ++i) {
        DcpEntry more = one;
        more.key = "deepspeed.more" + std::to_string(i);
        more.path = {"deepspeed", "more" + std::to_string(i)};
        more.place.bytes = one.place.bytes;
        all.push_back(more);
    }
    converted.write(all);
    const ProcessResult inspected = runHereOrThere({"inspect", converted.path().string(), "--json"});
    CHECK(inspected.exitCode == 0);
}
