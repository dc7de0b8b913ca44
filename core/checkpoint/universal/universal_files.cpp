// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/file_loader.h"
#include "core/checkpoint/universal/universal.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr std::string_view kSuffix = ".pt";

/// Folders are nested if names have slashes. Deeper names of parameters are not followed.
constexpr int kDeepestName = 32;

/// A parameter's folder with its files, or a file directly in zero/.
struct Listed {
    std::string name; ///< relative to zero/
    bool isFolder = false;
    std::vector<CheckpointFile> files = {};
    std::optional<Error> error = {};
};

CheckpointFile entryFor(const Reading& reading, std::string name, FileRole role)
{
    CheckpointFile file;
    file.path = reading.out.tagFolder / name;
    file.name = std::move(name);
    file.role = role;
    if (role == FileRole::Other)
        file.status = FileStatus::Foreign;
    if (const auto info = reading.files.stat(file.path))
        file.identity = info->identity;
    else
        file.status = FileStatus::Damaged; // opening it reports why
    return file;
}

/// Lists the parameter's folder zero/NAME, and those of parameters with a name that continues after a slash.
/// Does not enter folders behind links, so no link can cause a loop.
/// `levels`: of folders that may be entered.
void lookInside(const Reading& reading, const std::string& name, int levels,
    const std::vector<io::DirectoryEntry>& inside, std::vector<Listed>& out)
{
    const std::string path = std::string(kUniversalFolder) + "/" + name;
    Listed own{.name = name, .isFolder = true};
    bool hasFolders = false;
    for (const io::DirectoryEntry& entry : inside) {
        if (levels > 0 && entry.type == io::FileType::Directory) {
            hasFolders = true;
            const std::string deeper = name + "/" + entry.name;
            if (const auto entries = reading.files.list(reading.out.tagFolder / path / entry.name))
                lookInside(reading, deeper, levels - 1, *entries, out);
            else
                out.push_back({.name = deeper, .error = entries.error()});
        } else if (entry.name.size() > kSuffix.size() && entry.name.ends_with(kSuffix)) {
            own.files.push_back(entryFor(reading, path + "/" + entry.name, FileRole::OptimStates));
        }
    }
    if (!own.files.empty() || !hasFolders)
        out.push_back(std::move(own));
}

std::vector<Listed> lookAt(const Reading& reading, const io::DirectoryEntry& entry)
{
    const std::string path = std::string(kUniversalFolder) + "/" + entry.name;
    const auto file = [&] {
        Listed out{.name = entry.name};
        out.files.push_back(
            entryFor(reading, path, path == kUniversalOptimizer ? FileRole::OptimStates : FileRole::Other));
        return std::vector<Listed>{std::move(out)};
    };
    if (entry.type != io::FileType::Directory && entry.type != io::FileType::Symlink)
        return file();
    const auto inside = reading.files.list(reading.out.tagFolder / path);
    if (!inside && entry.type == io::FileType::Symlink) // a link to a file, or a broken one
        return file();
    std::vector<Listed> out;
    if (inside)
        lookInside(
            reading, entry.name, entry.type == io::FileType::Directory ? kDeepestName - 1 : 0, *inside, out);
    else
        out.push_back({.name = entry.name, .error = inside.error()});
    return out;
}

void noteLeftovers(const Reading& reading)
{
    const auto isThere = [&](const char* name) {
        const auto info = reading.files.stat(reading.out.tagFolder / name);
        return info && info->type == io::FileType::Directory;
    };
    if (isThere("tmp"))
        reading.add(code::kForeignFile, Severity::Info,
            "the converter's working folder `tmp` still exists: the converter was asked to keep it, or it "
            "crashed",
            "tmp", {"nothing in it is read"});
    for (const CheckpointFile& file : reading.out.files) {
        if (file.name == "latest_universal")
            reading.add(code::kLatestDangling, Severity::Warning,
                "`latest_universal` is inside the folder that it should name: the converter was given a path "
                "with a slash at its end",
                file.name,
                {"stock DeepSpeed looks for it one folder up; write the folder's name into it there"});
    }
}

} // namespace

std::string_view stateOfFile(const CheckpointFile& file, const ParamFolder& folder)
{
    const size_t begin = kUniversalFolder.size() + folder.name.size() + 2;
    return std::string_view(file.name).substr(begin, file.name.size() - begin - kSuffix.size());
}

Result<std::vector<ParamFolder>> listParamFolders(const Reading& reading)
{
    noteLeftovers(reading);
    SHARDSCOPE_TRY(const auto entries, reading.files.list(reading.out.tagFolder / kUniversalFolder));
    std::vector<std::vector<Listed>> lists(entries.size());
    SHARDSCOPE_CHECK(parallelFor(entries.size(), defaultJobs(), reading.job, [&](size_t i) -> Status {
        lists[i] = lookAt(reading, entries[i]);
        return {};
    }));
    std::vector<Listed> listed;
    for (std::vector<Listed>& list : lists)
        std::move(list.begin(), list.end(), std::back_inserter(listed));
    // "a/b" comes after "a-b".
    std::sort(listed.begin(), listed.end(), [](const Listed& a, const Listed& b) { return a.name < b.name; });
    std::vector<ParamFolder> folders;
    for (Listed& one : listed) {
        if (one.error)
            reading.add(code::kFileUnreadable, Severity::Error, "the parameter's folder cannot be listed",
                std::string(kUniversalFolder) + "/" + one.name, {describe(*one.error)});
        else if (one.isFolder)
            folders.push_back({one.name, static_cast<uint32_t>(reading.out.files.size()),
                static_cast<uint32_t>(one.files.size())});
        std::move(one.files.begin(), one.files.end(), std::back_inserter(reading.out.files));
        one.files = {};
    }
    return folders;
}

namespace {

/// Which group lists each of `count` entries by its number, if the groups list all of them exactly once. The
/// groups of a ZeRO-3 source list its sub-groups.
std::optional<std::vector<uint32_t>> ownersByKey(const std::vector<GroupEntry>& groups, size_t count)
{
    std::vector<uint32_t> owners(count, static_cast<uint32_t>(groups.size()));
    size_t listed = 0;
    for (uint32_t g = 0; g < groups.size(); ++g) {
        for (const int64_t key : groups[g].stateKeys) {
            const bool fits = key >= 0 && static_cast<uint64_t>(key) < count;
            if (!fits || owners[static_cast<size_t>(key)] != groups.size())
                return std::nullopt;
            owners[static_cast<size_t>(key)] = g;
            ++listed;
        }
    }
    return listed == count ? std::optional(std::move(owners)) : std::nullopt;
}

} // namespace

GroupPlan planGroups(const PickleGraph* optimizer, size_t shapeLists)
{
    GroupPlan plan;
    if (optimizer != nullptr) {
        const NodeId root = optimizer->root();
        plan.nested = readParamGroups(*optimizer, lookup(*optimizer, root, "optimizer_state_dict"));
        plan.groups = readParamGroups(*optimizer, root);
        if (plan.groups.empty())
            plan.groups = plan.nested;
    }
    const auto owners = ownersByKey(plan.nested.empty() ? plan.groups : plan.nested, shapeLists);
    if (owners && (plan.nested.empty() || plan.nested.size() == plan.groups.size())) {
        plan.ownerOfList = *owners;
    } else if (plan.groups.empty() || plan.groups.size() == shapeLists) {
        plan.groups.resize(shapeLists);
        for (uint32_t i = 0; i < shapeLists; ++i)
            plan.ownerOfList.push_back(i);
    }
    return plan;
}

namespace {

constexpr size_t kBatch = 2048; ///< files whose contents are in memory at once

/// Handles both forms: the tensor itself, or a dict that has it under `param`.
NodeId valueOf(const PickleGraph& graph)
{
    return isMapping(graph, graph.root()) ? lookup(graph, graph.root(), "param") : graph.root();
}

bool isTrue(const PickleGraph& graph, std::string_view key)
{
    const NodeId node = lookup(graph, graph.root(), key);
    return node != kNoNode && asBool(graph, node).value_or(true);
}

} // namespace

void ParamFindings::add(std::string_view code, Severity severity, std::string message,
    const std::string& param, std::string_view state, std::vector<std::string> evidence)
{
    auto& [worst, count] = m_counts[{code, std::string(state)}];
    worst = severity;
    if (++count <= kEach)
        m_reading.add(
            code, severity, std::move(message), ParamAddress{param, std::string(state)}, std::move(evidence));
}

void ParamFindings::finish()
{
    for (const auto& [kind, counted] : m_counts) {
        if (counted.second > kEach)
            m_reading.add(kind.first, counted.first,
                "the same is true of " + std::to_string(counted.second - kEach) + " parameters more",
                std::string(kUniversalFolder), {"state " + kind.second});
    }
    m_counts.clear();
}

Status StateFacts::read(Reading& reading, const std::vector<ParamFolder>& folders,
    const std::vector<bool>& isMember, ParamFindings& findings)
{
    if (folders.empty())
        return {};
    m_first = folders.front().firstFile;
    m_facts.resize(folders.back().firstFile + folders.back().fileCount - m_first);
    std::vector<std::pair<FileId, uint32_t>> batch; // each with its folder
    std::vector<FileId> ids;
    const auto flush = [&]() -> Status {
        SHARDSCOPE_CHECK(reading.job.poll());
        SHARDSCOPE_CHECK(loadFiles(reading, ids));
        for (const auto& [id, folder] : batch) {
            CheckpointFile& file = reading.out.files[index(id)];
            if (file.content && isMember[folder]) {
                if (stateOfFile(file, folders[folder]) == "step")
                    takeStep(reading, id, folders[folder], findings);
                else
                    take(reading, id, folders[folder], findings);
            }
            file.content.reset();
        }
        batch.clear();
        ids.clear();
        return {};
    };
    for (uint32_t f = 0; f < folders.size(); ++f) {
        for (uint32_t i = 0; i < folders[f].fileCount; ++i) {
            batch.emplace_back(FileId{folders[f].firstFile + i}, f);
            ids.push_back(batch.back().first);
            if (batch.size() >= kBatch)
                SHARDSCOPE_CHECK(flush());
        }
    }
    return flush();
}

void StateFacts::take(const Reading& reading, FileId id, const ParamFolder& folder, ParamFindings& findings)
{
    const CheckpointFile& file = reading.out.file(id);
    const PickleGraph& graph = file.content->pickle();
    const std::string_view state = stateOfFile(file, folder);
    const auto complain = [&](const std::string& why) {
        findings.add(code::kTensorInvalid, Severity::Error, "the tensor of this state cannot be used",
            folder.name, state, {file.name, why});
    };
    const NodeId node = valueOf(graph);
    if (node == kNoNode || !looksLikeTensor(graph, node))
        return complain("it is neither a tensor nor a dict with a tensor under `param`");
    const auto tensor = asTensor(graph, node);
    if (!tensor)
        return complain(describe(tensor.error()));
    if (!tensor->isContiguous())
        return complain("it is not contiguous: its shape is " + shapeText(tensor->sizes));
    const auto extent = file.content->extentOf(*tensor);
    if (!extent)
        return complain(describe(extent.error()));
    StateFact& fact = m_facts[index(id) - m_first];
    fact.read = true;
    fact.flat = tensor->sizes.size() == 1;
    fact.dtype = tensor->dtype;
    fact.run = {id, extent->record, extent->byteOffset, tensor->elements().value_or(0)};
    if (!isMapping(graph, graph.root()))
        return;
    fact.vocabulary = isTrue(graph, "vocab_tensor");
    fact.keptPadding = lookup(graph, graph.root(), "vocab_divisibility_padding_tensor") != kNoNode;
    fact.expert = isTrue(graph, "is_expert_param");
    if (state == "fp32")
        m_shapes.emplace(index(id), tensor->sizes);
}

void StateFacts::takeStep(
    const Reading& reading, FileId id, const ParamFolder& folder, ParamFindings& findings)
{
    const CheckpointFile& file = reading.out.file(id);
    const NodeId node = valueOf(file.content->pickle());
    const auto value = node == kNoNode ? std::nullopt : scalarOf(reading, id, node);
    if (!value) {
        findings.add(code::kTensorInvalid, Severity::Error, "the optimizer's step cannot be read",
            folder.name, "step", {file.name});
        return;
    }
    FlatUnit form; // holds the two facts that setStepForm() finds
    setStepForm(file.content->pickle(), node, form);
    m_steps.emplace(index(id), StepFact{*value, form.stepForm, form.stepType});
}

const StateFact* StateFacts::of(FileId file) const
{
    const size_t at = size_t{index(file)} - m_first;
    return index(file) >= m_first && at < m_facts.size() && m_facts[at].read ? &m_facts[at] : nullptr;
}

const StepFact* StateFacts::stepOf(FileId file) const
{
    const auto found = m_steps.find(index(file));
    return found == m_steps.end() ? nullptr : &found->second;
}

const Shape* StateFacts::shapeOf(FileId file) const
{
    const auto found = m_shapes.find(index(file));
    return found == m_shapes.end() ? nullptr : &found->second;
}

} // namespace shardscope
