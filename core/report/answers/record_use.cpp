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

} // namespace

RecordUse recordsOf(io::FileSystem& files, const Checkpoint& checkpoint, FileId file, JobContext& job)
{
    RecordUse out;
    const CheckpointFile& entry = checkpoint.file(file);
    if (entry.content) {
        out.records = entry.content->zip().records();
    } else if (entry.status != FileStatus::Missing && entry.role != FileRole::Other
        && entry.role != FileRole::Pointer && entry.role != FileRole::Script
        && entry.role != FileRole::Manifest && entry.role != FileRole::Swap) {
        if (const auto open = files.openRead(entry.path)) {
            if (const auto zip = ZipDirectory::read(**open, ReadMode::Tolerant, job))
                out.records = zip->records();
        }
    }
    out.usedBy.resize(out.records.size());
    // A file holds flat buffers of its own rank only, so one lookup per unit and state is enough.
    for (const FlatUnit& unit : checkpoint.units) {
        constexpr uint32_t kNone = 0xFFFFFFFFu;
        const uint32_t share = entry.rank ? checkpoint.shareOf(unit, *entry.rank).value_or(kNone) : kNone;
        for (const UnitState& state : unit.states) {
            for (size_t at = 0; at < state.perParam.size(); ++at) {
                if (holds(state.perParam[at], file, out.records.size()))
                    out.usedBy[state.perParam[at].record].push_back(formatAddress(ParamAddress{
                        checkpoint.params[index(unit.params[at])].name, state.name, std::nullopt}));
            }
            for (size_t at = 0; share != kNone && at < unit.params.size() && !state.perSlice.empty(); ++at) {
                const UnitState::Slice& slice = state.perSlice[share * unit.params.size() + at];
                if (holds(slice.run, file, out.records.size()) && slice.run.elements > 0)
                    out.usedBy[slice.run.record].push_back(
                        formatAddress(ParamAddress{checkpoint.params[index(unit.params[at])].name, state.name,
                            std::pair{slice.first, slice.first + slice.run.elements}}));
            }
            if (share < state.perRank.size() && holds(state.perRank[share], file, out.records.size()))
                out.usedBy[state.perRank[share].record].push_back(
                    unitAddress(checkpoint, unit, state, share));
        }
    }
    for (const WholeTensor& whole : checkpoint.whole) {
        if (holds(whole.run, file, out.records.size()) && whole.param != kNoParam)
            out.usedBy[whole.run.record].push_back(formatAddress(
                ParamAddress{checkpoint.params[index(whole.param)].name, whole.state, std::nullopt}));
    }
    return out;
}

} // namespace shardscope
