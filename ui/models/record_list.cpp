// SPDX-License-Identifier: Apache-2.0
#include "ui/models/record_list.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/torchfile/pickle/pickle_graph.h"
#include "core/torchfile/pickle/pickle_values.h"

namespace shardscope::ui {

namespace {

constexpr size_t kLongestLabel = 120;

/// One step of a path: its name and the step before it.
struct Step {
    size_t before = 0;
    std::string label;
};

struct Visit {
    NodeId node = kNoNode;
    size_t step = 0;
};

std::string labelOf(const PickleGraph& graph, NodeId key)
{
    if (const auto text = asString(graph, key))
        return std::string(text->substr(0, kLongestLabel));
    if (const auto number = asInteger(graph, key))
        return std::to_string(*number);
    return "?";
}

std::string wayTo(const std::vector<Step>& steps, size_t step)
{
    std::vector<const std::string*> labels;
    for (; step != 0; step = steps[step].before)
        labels.push_back(&steps[step].label);
    std::string way;
    for (auto label = labels.rbegin(); label != labels.rend(); ++label)
        way += (way.empty() ? "" : ".") + **label;
    return way;
}

/// Pushes the items of a container on the stack, the first one on top.
void pushContent(
    const PickleGraph& graph, const Visit& at, std::vector<Step>& steps, std::vector<Visit>& stack)
{
    NodeId mapping = at.node;
    if (const auto object = asObject(graph, at.node); object && !isMapping(graph, at.node))
        mapping = object->attributes;
    if (mapping != kNoNode && isMapping(graph, mapping)) {
        const std::span<const NodeId> pairs = mappingItems(graph, mapping);
        for (size_t i = pairs.size() / 2; i-- > 0;) {
            steps.push_back({at.step, labelOf(graph, pairs[2 * i])});
            stack.push_back({pairs[2 * i + 1], steps.size() - 1});
        }
        return;
    }
    const std::span<const NodeId> items = sequenceItems(graph, at.node);
    for (size_t i = items.size(); i-- > 0;) {
        steps.push_back({at.step, std::to_string(i)});
        stack.push_back({items[i], steps.size() - 1});
    }
}

bool mayHoldTensors(NodeKind kind)
{
    return kind == NodeKind::List || kind == NodeKind::Tuple || kind == NodeKind::Dict
        || kind == NodeKind::Reduce || kind == NodeKind::NewObj || kind == NodeKind::NewObjEx;
}

/// Where in a file's object tree each storage is used first: key of the storage ("7" for the record "data/7")
/// to the dotted way there ("optimizer_state_dict.state.0.step"). Looks at no more than `most` nodes, so that
/// a malicious endless tree does not block; later nodes are left out.
std::map<std::string, std::string> tensorPaths(const PickleGraph& graph, size_t most = 2'000'000)
{
    std::map<std::string, std::string> paths;
    if (graph.root() == kNoNode)
        return paths;
    std::vector<bool> seen(graph.nodeCount(), false);
    std::vector<Step> steps(1);
    std::vector<Visit> stack{{graph.root(), 0}};
    for (size_t looked = 0; !stack.empty() && looked < most; ++looked) {
        const Visit at = stack.back();
        stack.pop_back();
        if (at.node == kNoNode || !mayHoldTensors(graph.kind(at.node)) || seen[index(at.node)])
            continue;
        seen[index(at.node)] = true;
        if (looksLikeTensor(graph, at.node)) {
            if (const auto tensor = asTensor(graph, at.node))
                paths.try_emplace(std::string(tensor->storage.key), wayTo(steps, at.step));
            continue;
        }
        pushContent(graph, at, steps, stack);
    }
    return paths;
}

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
    else if (line.usedBy.size() < 200
        && ("; " + line.usedBy + "; ").find("; " + use + "; ") == std::string::npos)
        line.usedBy += "; " + use;
}

void markUnits(const Checkpoint& checkpoint, FileId file, std::vector<RecordLine>& lines)
{
    for (size_t i = 0; i < checkpoint.units.size(); ++i) {
        const FlatUnit& unit = checkpoint.units[i];
        for (const UnitState& state : unit.states) {
            state.visitRuns([&](const MappedRun& mapped) {
                const StoredRun& run = mapped.run;
                if (run.file != file || run.record >= lines.size())
                    return true;
                const Parameter* param
                    = mapped.param ? &checkpoint.params[index(unit.params[*mapped.param])] : nullptr;
                if (param != nullptr && run.elements == 0 && param->elements > 0)
                    return true; // an empty slice
                RecordLine& line = lines[run.record];
                line.unit = UnitId{static_cast<uint32_t>(i)};
                if (mapped.param)
                    line.param = unit.params[*mapped.param];
                addUse(line, state.name + " of " + (param != nullptr ? param->name : unitName(unit)));
                return true;
            });
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
            list.maxBytes = whole.bytes;
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
        list.maxBytes = std::max(list.maxBytes, record.bytes);
    }
    markUnits(checkpoint, file, list.lines);
    markWhole(checkpoint, file, list.lines);
    markFixed(list.lines);
    markByPath(*content, list.lines);
    return list;
}

} // namespace shardscope::ui
