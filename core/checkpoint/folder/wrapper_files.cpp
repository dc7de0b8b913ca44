// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/folder/wrapper_files.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/folder/file_table.h"
#include "core/checkpoint/folder/reading_state.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <unordered_set>

namespace shardscope {

namespace {

constexpr uint64_t kTrainerStateLimitBytes = uint64_t{16} << 20;
constexpr std::string_view kTrainerState = "trainer_state.json";
constexpr std::string_view kMegatronPointer = "latest_checkpointed_iteration.txt";

bool hasKey(const Reading& reading, std::string_view key)
{
    const auto& keys = reading.out.clientStateKeys;
    return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// Lightning and the Megatron family have no file of their own next to the tag. Their client state shows
/// them.
std::string wrapperByClientState(const Reading& reading)
{
    if (hasKey(reading, "pytorch-lightning_version"))
        return "lightning";
    const bool randomStates = hasKey(reading, "rng_state") || hasKey(reading, "random_rng_state");
    if (hasKey(reading, "args") && hasKey(reading, "iteration") && randomStates)
        return "megatron";
    return {};
}

void addFiles(const Reading& reading, const io::Path& folder, std::unordered_set<std::string>& seen)
{
    const auto entries = reading.files.list(folder);
    if (!entries)
        return;
    Checkpoint& out = reading.out;
    for (const io::DirectoryEntry& entry : *entries) {
        if (entry.type == io::FileType::Directory || !isWrapperFile(out.wrapper, entry.name))
            continue;
        if (!seen.insert(entry.name).second)
            continue; // an earlier root has it
        CheckpointFile file;
        file.path = folder / entry.name;
        file.name = std::string(kNextToTag) + entry.name;
        const auto info = reading.files.stat(file.path);
        if (info && info->type != io::FileType::Regular)
            continue;
        if (info) {
            file.identity = info->identity;
        } else {
            file.status = FileStatus::Damaged;
            reading.add(code::kFileUnreadable, Severity::Warning, "the file cannot be looked at", file.name,
                {describe(info.error())});
        }
        if (const auto rank = randomStatesRank(out.wrapper, entry.name))
            file.rank = RankCoordinate{*rank, 0, 0};
        out.files.push_back(std::move(file));
    }
}

/// Reads the numbers of a Trainer's state. Skips its log, which may be long.
void describeTrainer(const Reading& reading)
{
    const auto text = reading.files.readSmall(reading.out.runFolder / kTrainerState, kTrainerStateLimitBytes);
    if (!text)
        return;
    const auto isShallow
        = [](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) { return depth <= 1; };
    const auto state = nlohmann::json::parse(*text, isShallow, false);
    if (!state.is_object())
        return;
    std::string facts;
    for (const char* key : {"global_step", "max_steps", "epoch"}) {
        if (state.contains(key) && state.at(key).is_number())
            facts += (facts.empty() ? "" : ", ") + std::string(key) + " " + state.at(key).dump();
    }
    if (!facts.empty())
        reading.out.evidence.push_back("`trainer_state.json`: " + facts);
}

/// Reads counters that a framework keeps as client state in the model file.
void describeClientState(const Reading& reading)
{
    const TorchFile* model = reading.content(reading.out.templateModel);
    if (model == nullptr || reading.modelRoot == kNoNode || reading.hasNoValues())
        return;
    const PickleGraph& graph = model->pickle();
    std::string facts;
    for (const char* key : {"iteration", "epoch", "global_step"}) {
        if (const auto value = asInteger(graph, lookup(graph, reading.modelRoot, key)))
            facts += (facts.empty() ? "" : ", ") + std::string(key) + " " + std::to_string(*value);
    }
    if (!facts.empty())
        reading.out.evidence.push_back("client state of " + reading.out.wrapper + ": " + facts);
}

/// The number between `prefix` and `suffix`, in the frameworks' spelling.
std::optional<uint32_t> numberIn(std::string_view name, std::string_view prefix, std::string_view suffix)
{
    if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size())
        return std::nullopt;
    const std::string_view digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()
        || (digits.size() > 1 && digits[0] == '0'))
        return std::nullopt;
    return value;
}

} // namespace

bool isNextToTag(std::string_view name)
{
    return name.starts_with(kNextToTag);
}

bool isWrapperFile(std::string_view wrapper, std::string_view name)
{
    if (wrapper.empty() || name.empty() || name.front() == '.' || name.ends_with(".tmp"))
        return false;
    if (name == "zero_to_fp32.py" || name == "zero_to_torch.py")
        return false;
    if (wrapper == "megatron")
        return name == kMegatronPointer;
    return name != "latest" && name != "latest_universal";
}

std::optional<uint32_t> randomStatesRank(std::string_view wrapper, std::string_view name)
{
    if (wrapper == "transformers")
        return name == "rng_state.pth" ? std::optional<uint32_t>(0) : numberIn(name, "rng_state_", ".pth");
    if (wrapper == "accelerate")
        return numberIn(name, "random_states_", ".pkl");
    return std::nullopt;
}

std::string randomStatesName(std::string_view wrapper, uint32_t rank, uint32_t ranks)
{
    if (wrapper == "accelerate")
        return "random_states_" + std::to_string(rank) + ".pkl";
    return ranks == 1 ? "rng_state.pth" : "rng_state_" + std::to_string(rank) + ".pth";
}

void readWrapper(const Reading& reading, const std::vector<io::Path>& roots)
{
    Checkpoint& out = reading.out;
    if (out.wrapper.empty())
        out.wrapper = wrapperByClientState(reading);
    if (out.wrapper.empty())
        return;
    std::unordered_set<std::string> seen;
    addFiles(reading, out.runFolder, seen);
    for (const io::Path& root : roots)
        addFiles(reading, tagFolderIn(reading, root) == root ? root.parent_path() : root, seen);
    if (out.wrapper == "transformers")
        describeTrainer(reading);
    else
        describeClientState(reading);
}

} // namespace shardscope
