// SPDX-License-Identifier: Apache-2.0
#include "core/layout/address.h"
#include "core/report/answers/files_report.h"

namespace shardscope {

namespace {

bool holds(const StoredRun& run, FileId file, size_t records)
{
    return run.file == file && run.record < records;
}

/// The address of a rank's part of a unit: its flat buffer, or the parameter if it is frozen.
std::string unitAddress(
    const Checkpoint& checkpoint, const FlatUnit& unit, const UnitState& state, uint32_t rank)
{
    if (!unit.isFlat() && !unit.params.empty()) {
        const auto piece = unit.partition.pieceAt(rank, 0);
        const std::string& name = checkpoint.params[index(unit.params.front())].name;
        if (!piece || piece->isPadding())
            return formatAddress(ParamAddress{name, state.name, std::nullopt});
        return formatAddress(ParamAddress{
            name, state.name, std::pair{piece->paramOffset, piece->paramOffset + piece->elements}});
    }
    return formatAddress(flatAddressOf(checkpoint, unit, rank, 0, state.name));
}

/// The address of what a run holds.
std::string useOf(
    const Checkpoint& checkpoint, const FlatUnit& unit, const UnitState& state, const MappedRun& mapped)
{
    if (!mapped.param)
        return unitAddress(checkpoint, unit, state, mapped.share);
    const Parameter& param = checkpoint.params[index(unit.params[*mapped.param])];
    ParamAddress address{param.name, state.name, std::nullopt};
    if (mapped.box == nullptr && mapped.run.elements < param.elements)
        address.range = std::pair{mapped.first, mapped.first + mapped.run.elements};
    return formatAddress(address);
}

/// Whether the run is a slice without elements of a parameter that has some.
bool isEmptySlice(const Checkpoint& checkpoint, const FlatUnit& unit, const MappedRun& mapped)
{
    return mapped.param && mapped.run.elements == 0
        && checkpoint.params[index(unit.params[*mapped.param])].elements > 0;
}

} // namespace

std::vector<UsedRecord> recordsOf(
    io::FileSystem& files, const Checkpoint& checkpoint, FileId file, JobContext& job)
{
    std::vector<UsedRecord> out;
    const auto add = [&](const std::vector<ZipRecord>& records) {
        for (const ZipRecord& record : records)
            out.push_back({record, {}});
    };
    const CheckpointFile& entry = checkpoint.file(file);
    if (entry.content) {
        add(entry.content->zip().records());
    } else if (entry.status != FileStatus::Missing && entry.role != FileRole::Other
        && entry.role != FileRole::Pointer && entry.role != FileRole::Script
        && entry.role != FileRole::Manifest && entry.role != FileRole::Swap) {
        if (const auto open = files.openRead(entry.path)) {
            if (const auto zip = ZipDirectory::read(**open, ReadMode::Tolerant, job))
                add(zip->records());
        }
    }
    for (const FlatUnit& unit : checkpoint.units) {
        for (const UnitState& state : unit.states) {
            state.visitRuns([&](const MappedRun& mapped) {
                if (holds(mapped.run, file, out.size()) && !isEmptySlice(checkpoint, unit, mapped))
                    out[mapped.run.record].usedBy.push_back(useOf(checkpoint, unit, state, mapped));
                return true;
            });
        }
    }
    for (const WholeTensor& whole : checkpoint.whole) {
        if (holds(whole.run, file, out.size()) && whole.param != kNoParam)
            out[whole.run.record].usedBy.push_back(formatAddress(
                ParamAddress{checkpoint.params[index(whole.param)].name, whole.state, std::nullopt}));
    }
    return out;
}

} // namespace shardscope
