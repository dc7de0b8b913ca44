// SPDX-License-Identifier: Apache-2.0
#include "ui/models/record_list.h"

#include "ui/text/tensor_paths.h"

#include <algorithm>
#include <unordered_set>

namespace shardscope::ui {

namespace {

std::string unitName(const FlatUnit& unit)
{
    if (unit.kind == UnitKind::Frozen)
        return "frozen parameter";
    std::string name = "group " + std::to_string(unit.group);
    if (unit.subgroup)
        name += ", sub-group " + std::to_string(*unit.subgroup);
    return name;
}

void addUse(RecordLine& line, const std::string& use)
{
    if (line.usedBy.empty())
        line.usedBy = use;
    else if (line.usedBy.size() < 200 && line.usedBy.find(use) == std::string::npos)
        line.usedBy += "; " + use;
}

void markUnits(const Checkpoint& checkpoint, FileId file, std::vector<RecordLine>& lines)
{
    const auto& rank = checkpoint.file(file).rank;
    for (size_t i = 0; i < checkpoint.units.size(); ++i) {
        const FlatUnit& unit = checkpoint.units[i];
        for (const UnitState& state : unit.states) {
            for (size_t at = 0; at < state.perParam.size(); ++at) {
                const StoredRun& run = state.perParam[at];
                if (run.file != file || run.record >= lines.size())
                    continue;
                lines[run.record].unit = UnitId{static_cast<uint32_t>(i)};
                lines[run.record].param = unit.params[at];
                addUse(
                    lines[run.record], state.name + " of " + checkpoint.params[index(unit.params[at])].name);
            }
            const auto share = rank ? checkpoint.shareOf(unit, *rank) : std::nullopt;
            if (rank && !share)
                continue;
            for (size_t at = 0; at < state.perSlice.size(); ++at) {
                const StoredRun& run = state.perSlice[at].run;
                if (run.file != file || run.record >= lines.size() || run.elements == 0)
                    continue;
                const ParamId param = unit.params[at % unit.params.size()];
                lines[run.record].unit = UnitId{static_cast<uint32_t>(i)};
                lines[run.record].param = param;
                addUse(lines[run.record], state.name + " of " + checkpoint.params[index(param)].name);
            }
            const size_t first = share.value_or(0);
            const size_t last
                = share ? std::min<size_t>(first + 1, state.perRank.size()) : state.perRank.size();
            for (size_t r = first; r < last; ++r) {
                const StoredRun& run = state.perRank[r];
                if (run.file != file || run.record >= lines.size())
                    continue;
                lines[run.record].unit = UnitId{static_cast<uint32_t>(i)};
                addUse(lines[run.record], state.name + " of " + unitName(unit));
            }
        }
    }
}

void markWhole(const Checkpoint& checkpoint, FileId file, std::vector<RecordLine>& lines)
{
    std::vector<uint32_t> counts(lines.size(), 0);
    for (const WholeTensor& whole : checkpoint.whole) {
        if (whole.run.file != file || whole.run.record >= lines.size() || whole.param == kNoParam)
            continue;
        RecordLine& line = lines[whole.run.record];
        if (counts[whole.run.record]++ == 0) {
            line.param = whole.param;
            addUse(line, whole.state + " of " + checkpoint.params[index(whole.param)].name);
        }
    }
    for (size_t i = 0; i < lines.size(); ++i)
        if (counts[i] > 1)
            lines[i].usedBy
                += " and " + std::to_string(counts[i] - 1) + (counts[i] == 2 ? " other" : " others");
}

/// Records unknown to the layout, such as steps, scalers and client state, are described by their place in
/// the object tree.
void markByPath(const TorchFile& content, std::vector<RecordLine>& lines)
{
    const std::map<std::string, std::string> paths = tensorPaths(content.pickle());
    std::unordered_set<std::string> stored;
    for (const StorageView& storage : content.storagesInOrder())
        stored.insert("data/" + std::string(storage.key));
    for (RecordLine& line : lines) {
        const std::string& name = line.record.name;
        if (!line.usedBy.empty() || !stored.contains(name))
            continue;
        const auto path = paths.find(name.substr(std::string_view("data/").size()));
        line.usedBy = path == paths.end() ? "another tensor of the object tree" : path->second;
    }
}

void markFixed(std::vector<RecordLine>& lines)
{
    for (RecordLine& line : lines) {
        if (line.record.name == "data.pkl")
            line.usedBy = "the object tree";
        else if (line.record.name == "version" || line.record.name == "byteorder"
            || line.record.name.starts_with("."))
            line.usedBy = "the archive itself";
    }
}

} // namespace

RecordList listRecords(
    io::FileSystem& files, const Checkpoint& checkpoint, FileId file, const std::stop_token& token)
{
    RecordList list;
    list.file = file;
    const CheckpointFile& entry = checkpoint.file(file);
    std::shared_ptr<const TorchFile> content = entry.content;
    if (!content) {
        if (entry.status == FileStatus::Missing) {
            list.problem = "The file is missing.";
            return list;
        }
        if (entry.role == FileRole::Swap) { // bare elements: one line for all of them
            ZipRecord whole;
            whole.name = entry.path.filename().string();
            whole.bytes = entry.identity.bytes;
            whole.crcPresent = false;
            list.mostBytes = whole.bytes;
            list.lines.push_back({std::move(whole), {}, kNoUnit, kNoParam});
            markUnits(checkpoint, file, list.lines);
            return list;
        }
        JobContext job(token);
        auto opened = TorchFile::open(files, entry.path, ReadMode::Tolerant, job);
        if (!opened) {
            list.problem = opened.error().message;
            return list;
        }
        content = *opened;
    }
    list.lines.reserve(content->zip().records().size());
    for (const ZipRecord& record : content->zip().records()) {
        list.lines.push_back({record, {}, kNoUnit, kNoParam});
        list.mostBytes = std::max(list.mostBytes, record.bytes);
    }
    markUnits(checkpoint, file, list.lines);
    markWhole(checkpoint, file, list.lines);
    markFixed(list.lines);
    markByPath(*content, list.lines);
    return list;
}

} // namespace shardscope::ui
