// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/formats/dcp_metadata.h"
#include "core/torchfile/pickle/pickle_emitter.h"
#include "core/torchfile/pickle/pickle_graph.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <array>
#include <functional>

using namespace shardscope;
using namespace shardscope::test;

namespace {

Result<std::vector<DcpEntry>> readFrom(const std::string& bytes)
{
    const TemporaryFolder folder;
    spill(folder / ".metadata", bytes);
    JobContext job;
    return readDcpMetadata(io::realFileSystem(), folder.path(), job);
}

std::vector<DcpEntry> sample()
{
    DcpEntry weight{"model.a.weight", {"model", "a.weight"}, true, DType::BFloat16, {5, 3}, {}, {}};
    weight.chunks
        = {{{0, 0}, {3, 3}, {"__0_0.distcp", 10, 1234}}, {{3, 0}, {2, 3}, {"__1_0.distcp", 0, 999}}};
    DcpEntry scalar{"optim.state.a.weight.step", {"optim", "state", "a.weight", "step"}, true, DType::Float32,
        {}, {{{}, {}, {"__0_0.distcp", 5000, 700}}}, {}};
    DcpEntry rate{"optim.param_groups.0.lr", {"optim", "param_groups", int64_t{0}, "lr"}, false,
        DType::Unknown, {}, {}, {"__0_0.distcp", 0, 10}};
    return {weight, scalar, rate};
}

ErrorCode codeOf(const std::function<void(std::vector<DcpEntry>&)>& change)
{
    auto entries = sample();
    change(entries);
    const auto bytes = dcpMetadataBytes(entries);
    REQUIRE(bytes.has_value());
    const auto read = readFrom(*bytes);
    return read ? ErrorCode::Internal : read.error().code;
}

} // namespace

TEST_CASE("metadata are read as they were written")
{
    const auto entries = sample();
    const auto bytes = dcpMetadataBytes(entries);
    REQUIRE(bytes.has_value());
    CHECK(*bytes == *dcpMetadataBytes(entries));
    const auto read = readFrom(*bytes);
    REQUIRE_MESSAGE(read.has_value(), (read ? "" : describe(read.error())));
    REQUIRE(read->size() == entries.size());
    for (size_t i = 0; i < entries.size(); ++i) {
        const DcpEntry& found = (*read)[i];
        CHECK(found.key == entries[i].key);
        CHECK(found.path == entries[i].path);
        CHECK(found.isTensor == entries[i].isTensor);
        CHECK(found.dtype == entries[i].dtype);
        CHECK(found.shape == entries[i].shape);
        CHECK(found.place == entries[i].place);
        REQUIRE(found.chunks.size() == entries[i].chunks.size());
        for (size_t c = 0; c < found.chunks.size(); ++c) {
            CHECK(found.chunks[c].offsets == entries[i].chunks[c].offsets);
            CHECK(found.chunks[c].sizes == entries[i].chunks[c].sizes);
            CHECK(found.chunks[c].place == entries[i].chunks[c].place);
        }
    }
    auto odd = entries;
    odd[0].key = "\xff";
    CHECK(dcpMetadataBytes(odd).error().code == ErrorCode::Unsupported);
}

TEST_CASE("impossible metadata are refused")
{
    CHECK(codeOf([](auto& e) { e[0].chunks[0].place.file = "../x"; }) == ErrorCode::Hostile);
    CHECK(codeOf([](auto& e) { e[0].chunks[0].place.file = "/x"; }) == ErrorCode::Hostile);
    CHECK(codeOf([](auto& e) { e[0].chunks[0].place.file = ".metadata"; }) == ErrorCode::Hostile);
    CHECK(codeOf([](auto& e) { e[0].chunks[0].place.file = ""; }) == ErrorCode::Hostile);
    CHECK(codeOf([](auto& e) { e[0].chunks[0].place.offset = uint64_t{1} << 63; }) == ErrorCode::Damaged);
    CHECK(codeOf([](auto& e) { e[0].chunks.pop_back(); }) == ErrorCode::Damaged); // a hole
    CHECK(codeOf([](auto& e) { e[0].chunks[1].sizes = {3, 3}; }) == ErrorCode::Damaged); // beyond the end
    CHECK(codeOf([](auto& e) { e[0].chunks[1].offsets = {3}; }) == ErrorCode::Damaged);
    CHECK(codeOf([](auto& e) { e[0].shape = {uint64_t{1} << 62, uint64_t{1} << 62}; }) == ErrorCode::Damaged);
    CHECK(codeOf([](auto& e) { e[0].dtype = DType::Unknown; }) == ErrorCode::Unsupported);

    const std::string bytes = *dcpMetadataBytes(sample());
    for (size_t cut = 0; cut < bytes.size(); cut += 11)
        CHECK(!readFrom(bytes.substr(0, cut)).has_value());
    CHECK(readFrom("").error().code == ErrorCode::Damaged);
    // Another object, and one that would run code when Python loads it.
    PickleBuilder builder;
    const auto other = emitPickle(builder.finish(builder.dict()));
    CHECK(readFrom(*other).error().code == ErrorCode::Damaged);
    PickleBuilder attack;
    const auto hostile = emitPickle(attack.finish(
        attack.reduce(attack.global("os", "system"), attack.tuple(std::array{attack.string("true")}))));
    CHECK(readFrom(*hostile).error().code == ErrorCode::Hostile);
    JobContext job;
    const TemporaryFolder folder;
    CHECK(readDcpMetadata(io::realFileSystem(), folder.path(), job).error().code == ErrorCode::NotFound);
}
