// SPDX-License-Identifier: Apache-2.0
// The forward and the inverse function of every form must agree on real files.
#include "core/checkpoint/model/element_map.h"
#include "core/checkpoint/open/open.h"
#include "core/layout/map_query.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <set>

using namespace shardscope;

namespace {

const io::Path kSamples = io::Path(sourceFolder()) / "tests/data/samples";

/// Looks up every stored piece in both directions; returns the number of elements.
uint64_t checkState(const FlatUnit& unit, const UnitState& state)
{
    uint64_t elements = 0;
    state.visitRuns([&](const MappedRun& mapped) {
        if (!mapped.run.isPresent())
            return true;
        mapped.forEachPiece(unit.partition, [&](uint32_t position, const StoredPiece& stored) {
            elements += stored.elements;
            uint64_t found = 0;
            unit.partition.forEachFragment(position, stored.paramOffset, stored.paramOffset + stored.elements,
                [&](const FlatPiece& piece) {
                    CHECK(piece.rank == mapped.share);
                    const uint64_t number = stored.runOffset + (piece.paramOffset - stored.paramOffset);
                    CHECK(mapped.shareElement(unit.partition, number) == piece.flatOffset);
                    return state.visitPiece(piece, [&](const StoredPiece& forward) {
                        CHECK(&forward.run == &mapped.run);
                        CHECK(forward.runOffset
                            == stored.runOffset + (forward.paramOffset - stored.paramOffset));
                        found += forward.stored();
                        return true;
                    });
                });
            CHECK(found == stored.elements);
        });
        return true;
    });
    return elements;
}

const char* formOf(const UnitState& state)
{
    const char* form = "buffers";
    state.visitRuns([&](const MappedRun& mapped) {
        form = mapped.box != nullptr         ? "boxes"
            : !state.map().tensors().empty() ? "tensors"
            : mapped.param                   ? "slices"
                                             : "buffers";
        return false;
    });
    return form;
}

StoredRun run(uint32_t file, uint64_t elements)
{
    return {FileId{file}, 0, 64, elements};
}

} // namespace

TEST_CASE("in all samples, the runs of elements and the elements of runs agree")
{
    std::set<std::string> forms;
    uint64_t elements = 0;
    JobContext job;
    for (const auto& entry : std::filesystem::directory_iterator(kSamples)) {
        if (!entry.is_directory())
            continue;
        CAPTURE(entry.path().string());
        const auto opened = openCheckpoint(io::realFileSystem(), entry.path(), {}, job);
        if (!opened || opened->checkpoint->modelError)
            continue;
        for (const FlatUnit& unit : opened->checkpoint->units) {
            for (const UnitState& state : unit.states) {
                CAPTURE(state.name);
                forms.insert(formOf(state));
                elements += checkState(unit, state);
            }
        }
    }
    CHECK(forms == std::set<std::string>{"buffers", "slices", "tensors"});
    CHECK(elements > 100'000);
}

TEST_CASE("boxes and tensors that are not stored are drawn as missing")
{
    const auto drawn = [](std::shared_ptr<const ElementMap> elements, StoredRun all, size_t params) {
        auto checkpoint = std::make_shared<Checkpoint>();
        checkpoint->files.resize(1);
        FlatUnit unit;
        unit.kind = UnitKind::Whole;
        unit.group = 0;
        for (uint32_t i = 0; i < params; ++i) {
            Parameter param;
            param.name = "p" + std::to_string(i);
            param.shape = {4, 3};
            param.elements = 12;
            param.unit = UnitId{0};
            param.indexInUnit = i;
            checkpoint->params.push_back(param);
            unit.params.push_back(ParamId{i});
        }
        const auto partition = FlatPartition::contiguous(std::vector<uint64_t>(params, 12), 1, 1);
        REQUIRE(partition);
        unit.partition = *partition;
        UnitState state;
        state.name = "fp32";
        state.perRank = {all};
        state.elements = std::move(elements);
        checkState(unit, state);
        unit.states.push_back(state);
        checkpoint->units.push_back(unit);
        const MapQuery query(checkpoint, {UnitId{0}, MapQuery::Projection::Partitions, 0}, nullptr, {});
        std::string out;
        query.forEachCell(0, 0, query.columns(), [&](const MapCell& cell) {
            out.append(cell.end - cell.begin, cell.kind == CellKind::Missing ? '-' : '#');
            return true;
        });
        return out;
    };
    const StoredRun all{FileId{0}, StoredRun::kNoRecord, 0, 12};
    const std::vector<Box> halves{{{0, 0}, {4, 1}}, {{0, 1}, {4, 2}}};
    const auto boxes = [&](const StoredRun& left, const StoredRun& right) {
        return std::make_shared<const BoxMap>(Shape{4, 3}, halves, std::vector<StoredRun>{left, right});
    };
    CHECK(drawn(boxes(run(0, 4), run(0, 8)), all, 1) == "############");
    CHECK(drawn(boxes(run(0, 4), {}), {}, 1) == "#--#--#--#--");
    CHECK(drawn(boxes({}, {}), {}, 1) == "------------");
    const auto tensors = [&](const StoredRun& first, const StoredRun& second) {
        return std::make_shared<const TensorMap>(std::vector<StoredRun>{first, second});
    };
    CHECK(drawn(tensors(run(0, 12), run(0, 12)), all, 2) == std::string(24, '#'));
    CHECK(drawn(tensors(run(0, 12), {}), all, 2) == std::string(12, '#') + std::string(12, '-'));
    CHECK(drawn(tensors({}, {}), {}, 2) == std::string(24, '-'));
}
