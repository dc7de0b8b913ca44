// SPDX-License-Identifier: Apache-2.0
// Diagnoses of which files belong together, and where they are.
#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/doctor/check_context.h"
#include "core/doctor/diagnosis_tables.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/split_folders.h"

#include <algorithm>
#include <array>
#include <set>

namespace shardscope {

namespace {

std::set<std::string> layerFiles(const std::vector<FolderEntry>& folder)
{
    std::set<std::string> out;
    for (const FolderEntry& entry : folder) {
        if (entry.parsed && entry.parsed->role == FileRole::LayerStates)
            out.insert(entry.name);
    }
    return out;
}

/// The tags before and after the examined one.
std::vector<std::string> neighbours(const Discovery& found)
{
    std::vector<std::string> out;
    const auto at = std::find(found.tags.begin(), found.tags.end(), found.tag);
    if (at == found.tags.end())
        return out;
    if (at != found.tags.begin())
        out.push_back(*std::prev(at));
    if (std::next(at) != found.tags.end())
        out.push_back(*std::next(at));
    return out;
}

/// A layer with tied parameters, or with none of its own, is recorded in no other file. But every save of a
/// run has the same layers.
Status findModelStatesMissing(const CheckContext& context, FindingSink& sink)
{
    const std::set<std::string> here = layerFiles(context.tag);
    if (here.empty())
        return {};
    std::set<std::string> reported;
    if (context.checkpoint) {
        for (const Finding& finding : context.checkpoint->findings)
            reported.insert(finding.where.file());
    }
    Status listed;
    for (const std::string& tag : neighbours(context.found)) {
        const auto entries = folderEntries(context.files, context.found.runFolder / tag);
        if (!entries) {
            listed = forward(entries.error());
            continue;
        }
        const std::set<std::string> there = layerFiles(*entries);
        if (!std::includes(there.begin(), there.end(), here.begin(), here.end()))
            continue;
        for (const std::string& name : there) {
            if (!here.contains(name) && reported.insert(name).second)
                sink.add(Severity::Error, "the file of a layer is missing", name,
                    {"tag `" + toValidUtf8(tag) + "` of the run has it"});
        }
    }
    return listed;
}

/// Optimizer files are there, but mp_rank_* or zero_pp_rank_*_model_states.pt of a rank is missing. Or a
/// stage's layer_NN-model_states.pt is missing, which other tags of the run have.
constexpr Diagnosis kModelStatesMissing{
    .code = code::kModelStatesMissing,
    .letter = "L7",
    .name = "Model files are missing",
    .depth = CheckDepth::Names,
    .countsFiles = true,
    .means = {.loading = "Stock DeepSpeed opens the model file first and stops without it.",
        .resuming = "Counters, scheduler, buffers and frozen weights are in that file.",
        .exporting = "Names and shapes of parameters are in that file, and not in the shards."},
    .remedy = "restore the file; or rebuild it from another tag's, with this tag's counters and with weights "
              "from the masters",
    .repairs = true,
    .threads = "DS#3377, finetrainers#29, DS#1322, DS#7599",
    .look = findModelStatesMissing,
};

Status findNamingAssumption(const CheckContext& context, FindingSink& sink)
{
    uint32_t layers = 0;
    bool first = false;
    for (const FolderEntry& entry : context.tag) {
        const auto& name = entry.parsed;
        if (!name || name->role != FileRole::LayerStates || !name->layer)
            continue;
        ++layers;
        first = first || *name->layer == 1;
    }
    if (layers > 0 && !first)
        sink.add(Severity::Info, "there are layer files, but none for layer 1", {},
            {std::to_string(layers) + " layer files", "modules without parameters have no file"});
    return {};
}

/// Layer files of a pipeline that do not begin with layer_01: converters that expect it reject the folder.
constexpr Diagnosis kNamingAssumption{
    .code = "naming-assumption",
    .letter = "L10",
    .name = "No file for layer 1",
    .depth = CheckDepth::Names,
    .worst = Severity::Info,
    .means = {.loading = "The engine loads it.",
        .exporting = "DeepSpeedCheckpoint of stock DeepSpeed refuses the folder."},
    .noRemedy = "nothing is wrong: this program does not need a file for layer 1",
    .threads = "DS#5776, EleutherAI/DeeperSpeed#47",
    .look = findNamingAssumption,
};

/// The largest number of ranks per node, from 2, with which the ranks of each node are all there or all
/// missing. 0 where there is no such number, or where one block has all ranks.
uint32_t ranksPerNode(const std::vector<bool>& isThere)
{
    const auto ranks = static_cast<uint32_t>(isThere.size());
    for (uint32_t node = ranks / 2; node >= 2; --node) {
        if (ranks % node != 0)
            continue;
        bool whole = true;
        for (uint32_t rank = 0; rank < ranks && whole; ++rank)
            whole = isThere[rank] == isThere[rank - rank % node];
        if (whole)
            return node;
    }
    return 0;
}

Status findNodeLocalShards(const CheckContext& context, FindingSink& sink)
{
    if (!context.checkpoint || !context.checkpoint->parts.empty())
        return {};
    const Checkpoint& checkpoint = *context.checkpoint;
    std::vector<bool> isThere;
    for (const FileId file : checkpoint.optimFiles)
        isThere.push_back(file != kNoFile && checkpoint.file(file).status != FileStatus::Missing);
    const auto missing = std::count(isThere.begin(), isThere.end(), false);
    const uint32_t node = missing < 2 ? 0 : ranksPerNode(isThere);
    if (node == 0)
        return {};
    std::vector<std::string> fetch{"ranks come in blocks of " + std::to_string(node)};
    for (uint32_t first = 0; first < isThere.size(); first += node) {
        if (!isThere[first])
            fetch.push_back("fetch the optimizer files of ranks " + std::to_string(first) + " to "
                + std::to_string(first + node - 1) + " from node " + std::to_string(first / node));
    }
    sink.add(Severity::Warning, "the files of whole nodes are missing", {}, std::move(fetch));
    return {};
}

/// The optimizer files of contiguous blocks of ranks are all missing: each node saved to its own disk.
constexpr Diagnosis kNodeLocalShards{
    .code = "node-local-shards",
    .letter = "L5",
    .name = "Saved to the disks of several nodes",
    .worst = Severity::Warning,
    .means = {.loading = "Each node of stock DeepSpeed reports the files of the others as missing.",
        .resuming = "Nothing is lost as long as the disks of the other nodes exist.",
        .exporting = "An export stops without them. With ZeRO-1 and 2 the model file still has 16-bit copies "
                     "of the weights."},
    .remedy
    = "copy the files of the ranks that are listed into one folder, or name their folders with `--root`",
    .threads = "DS#2319, EleutherAI/gpt-neox#750, stanford-crfm/mistral#48, PL#11947, ms-swift#2644, "
               "mosaicml/composer#2715",
    .look = findNodeLocalShards,
};

std::string namesOf(const std::vector<std::string>& files)
{
    constexpr size_t kMax = 4;
    std::string out;
    for (size_t i = 0; i < files.size() && i < kMax; ++i)
        out += (i == 0 ? "" : ", ") + toValidUtf8(files[i]);
    return files.size() > kMax ? out + " and " + std::to_string(files.size() - kMax) + " more" : out;
}

Status findSplitShards(const CheckContext& context, FindingSink& sink)
{
    if (!context.checkpoint || context.checkpoint->tagFolder.empty())
        return {};
    SHARDSCOPE_TRY(
        const SplitFolders split, findSplitFolders(context.files, *context.checkpoint, context.job));
    if (split.folders.empty())
        return split.notRead ? Status(forward(*split.notRead)) : Status();
    std::vector<std::string> folders;
    std::vector<std::string> evidence;
    for (const io::Path& folder : split.folders) {
        folders.push_back(folder.string());
        evidence.push_back("in " + folder.string());
    }
    if (!split.missing.empty())
        evidence.push_back("missing here: " + namesOf(split.missing));
    evidence.push_back(split.whole ? "together they are complete: nothing is missing, and nothing contradicts"
            : split.left.empty()   ? "together nothing is missing"
                                   : "together they still lack " + namesOf(split.left));
    sink.add(Severity::Error,
        split.folders.size() == 1 ? "missing files are in another folder"
                                  : "missing files are in other folders",
        {}, std::move(evidence), std::move(folders));
    return split.notRead && !split.whole ? Status(forward(*split.notRead)) : Status();
}

/// The files of one step are in several folders. Opened together, nothing may contradict.
constexpr Diagnosis kSplitShards{
    .code = shardscope::kSplitShards,
    .letter = "L4",
    .name = "One save in several folders",
    .means = {.loading = "Stock DeepSpeed searches one folder only and stops.",
        .resuming = "Nothing is lost: together the folders are the complete checkpoint.",
        .exporting = "Converters search one folder only."},
    .remedy = "merge them on a copy into one folder, as stock DeepSpeed expects; or pass the other folders "
              "to each command with `--root`",
    .repairs = true,
    .threads = "DS#5405, PL#12864",
    .look = findSplitShards,
};

Status findWrongLevel(const CheckContext& context, FindingSink& sink)
{
    const Discovery& found = context.found;
    if (found.tagFolder.empty() || found.runFolder.empty())
        return {};
    SHARDSCOPE_TRY(const io::Path asked, context.files.canonical(context.asked));
    if (asked == found.tagFolder)
        sink.add(Severity::Info, "the path is the tag folder itself", {},
            {"`load_checkpoint` of stock DeepSpeed expects the parent folder, with tag=`" + found.tag + "`",
                found.latest && *found.latest == found.tag ? "`latest` names it, so the tag can be omitted"
                                                           : "`latest` does not name it"});
    else if (asked != found.runFolder && found.selectedFile.empty())
        sink.add(Severity::Info, "the path is a parent of the run folder", {},
            {"the run folder of stock DeepSpeed is " + found.runFolder.string()});
    return {};
}

/// A path at another folder level than stock DeepSpeed expects.
constexpr Diagnosis kWrongLevel{
    .code = "wrong-level",
    .letter = "L3",
    .name = "Wrong folder level",
    .depth = CheckDepth::Names,
    .worst = Severity::Info,
    .means = {.loading = "Stock DeepSpeed finds nothing at this level; this program finds the right one."},
    .noRemedy = "nothing is wrong with the checkpoint; use the folder that is shown",
    .threads = "HF#12427, DS#7663, OpenRLHF/OpenRLHF#157",
    .look = findWrongLevel,
};

/// Names that savers give to a folder until it is complete.
bool isStaging(const std::string& name)
{
    return name.starts_with("tmp-") || name.starts_with("tmp_") || name.ends_with(".tmp");
}

/// The last number in the name of a tag, by which tags are ordered (tagLess()); empty if it has none.
std::string_view numberOf(std::string_view tag)
{
    constexpr std::string_view kDigits = "0123456789";
    const size_t last = tag.find_last_of(kDigits);
    if (last == std::string_view::npos)
        return {};
    const size_t before = tag.find_last_not_of(kDigits, last);
    const size_t first = before == std::string_view::npos ? 0 : before + 1;
    return tag.substr(first, last + 1 - first);
}

/// Of the same step, such as a universal copy.
bool areOfOneStep(std::string_view a, std::string_view b)
{
    return !numberOf(a).empty() && numberOf(a) == numberOf(b);
}

Status findNewerTag(const CheckContext& context, FindingSink& sink)
{
    const Discovery& found = context.found;
    if (found.latest && !found.tag.empty() && *found.latest == found.tag) {
        const auto at = std::find(found.tags.begin(), found.tags.end(), found.tag);
        for (auto tag = at; tag != found.tags.end(); ++tag) {
            if (tag != at && !areOfOneStep(*tag, found.tag))
                sink.add(Severity::Info, "there is a newer tag than the one that `latest` names", {},
                    {"`latest` names `" + toValidUtf8(found.tag) + "`",
                        "there is `" + toValidUtf8(*tag) + "`"});
        }
    }
    for (const FolderEntry& entry : context.run) {
        if (entry.isFolder && isStaging(entry.name))
            sink.add(Severity::Info, "the run folder contains the folder of an unfinished save", {},
                {toValidUtf8(entry.name)});
    }
    return {};
}

/// Tags newer than `latest`: the save was stopped before it wrote the pointer, or a user reset `latest` on
/// purpose.
constexpr Diagnosis kNewerTag{
    .code = "newer-tag",
    .letter = "R4",
    .name = "A newer tag than `latest` names",
    .depth = CheckDepth::Names,
    .worst = Severity::Info,
    .means = {.loading = "Stock DeepSpeed loads what `latest` names, which is older.",
        .resuming = "The steps between the two are trained again."},
    .noRemedy = "check the newer tag (`--tag`); if it is complete, name it to resume from it",
    .threads = "DS#7741, DS#7742, DS#797, NVIDIA-NeMo/Automodel#3254, HF#35580",
    .look = findNewerTag,
};

constexpr std::array kDiagnoses{
    kModelStatesMissing,
    kNamingAssumption,
    kNodeLocalShards,
    kSplitShards,
    kWrongLevel,
    kNewerTag,
    // There are tag folders but no `latest`; found by discover().
    Diagnosis{
        .code = code::kLatestMissing,
        .letter = "L1",
        .name = "No pointer file",
        .depth = CheckDepth::Names,
        .means = {.loading = "Stock DeepSpeed looks for a file `latest` and loads nothing without it, unless "
                             "a tag is named; wrappers then train from the start or stop.",
            .resuming = "Nothing is lost: load the tag by its name.",
            .exporting = "Converters that read `latest` stop."},
        .remedy = "write `latest` with the name of the newest complete tag",
        .repairs = true,
        .threads = "HF#22170, lean-dojo/ReProver#71, allenai/open-instruct#1589, BS-MDS#159, BS-MDS#164",
    },
    // `latest` names a folder that does not exist, cannot be read, or has a form that makes stock DeepSpeed
    // look elsewhere.
    Diagnosis{
        .code = code::kLatestDangling,
        .letter = "L2",
        .name = "The pointer names no usable tag",
        .depth = CheckDepth::Names,
        .means = {.loading = "Stock DeepSpeed fails, or a wrapper trains from the start: the named folder is "
                             "missing or has no state files.",
            .resuming = "Resume from the newest complete tag.",
            .exporting = "Converters that read `latest` stop."},
        .remedy = "point `latest` to the newest complete tag",
        .repairs = true,
        .threads
        = "HF#27820, HF#35580, HF#28027, LF#1860, huggingface/open-r1#553, modelscope/ms-swift#1132, PL#688, "
          "vllm-project/speculators#739, NVIDIA-NeMo/Automodel#3261",
    },
    // A file with the right name that was saved by another rank, step, world size or run.
    Diagnosis{
        .code = code::kRankForeign,
        .letter = "L6",
        .name = "A file of another rank, step or run",
        .silent = true,
        .means = {.loading = "Stock DeepSpeed loads it silently where sizes agree.",
            .resuming = "Part of the model resumes from another state; the loss shows it late or never.",
            .exporting = "Merged weights mix two states."},
        .remedy = "restore the right file; repair on a copy renames files with exchanged names, and refills "
                  "others like missing ones",
        .repairs = true,
        .threads = "DS#1793, DS#5405, EleutherAI/gpt-neox#750",
    },
    // A required file of a rank of this world size is missing.
    Diagnosis{
        .code = code::kRankMissing,
        .letter = "L6",
        .name = "Files of a rank are missing",
        .depth = CheckDepth::Names,
        .countsFiles = true,
        .means = {.loading = "Stock DeepSpeed stops on the ranks without files.",
            .resuming
            = "The masters and optimizer states of these ranks are lost unless another folder has them.",
            .exporting
            = "An export stops, because the masters of these ranks are missing. With ZeRO-1 and 2 the "
              "model file still has 16-bit copies, from which a repair fills them."},
        .remedy = "copy the files from where they were saved (`--root` adds a folder), or refill them on a "
                  "copy: from a neighbouring tag, a universal folder or the 16-bit copies, with "
                  "reconstructed values marked",
        .repairs = true,
        .threads = "DS#1793, LF#1253, LF#8098, HuangLK/transpeeder#37, DS#2319",
    },
    // Files of ranks beyond the world size, or of another stage: an earlier save into the same folder.
    Diagnosis{
        .code = code::kStaleFile,
        .letter = "L6",
        .name = "Files left by another save",
        .worst = Severity::Warning,
        .means = {.loading = "Stock DeepSpeed ignores them at this world size.",
            .resuming = "Resuming is not affected, except at the larger world size.",
            .exporting = "Tools that count files expect more ranks than there are and stop."},
        .remedy = "write a copy without them",
        .repairs = true,
        .threads = "DS#1793",
    },
    // Names of Ulysses runs: core/checkpoint/folder/sequence_names.h.
    Diagnosis{
        .code = code::kSequenceNames,
        .letter = "L10",
        .name = "Sequence-parallel ranks in file names",
        .worst = Severity::Info,
        .means = {.loading = "DeepSpeed 0.18.4, which writes such names, loads it with the same number of "
                             "sequence-parallel ranks. Releases that look for `mp_rank_00` (0.19.8 does) and "
                             "runs with another number do not find the optimizer files.",
            .resuming = "Nothing is lost: every rank's file is there.",
            .exporting = "Export does not depend on the names."},
        .remedy = "write a copy in which the names of all files contain `mp_rank_00`",
        .repairs = true,
        .repairsFrom = Severity::Info,
        .threads = "DS#7732",
    },
    // bf16_zero_* and zero_* optimizer files side by side.
    Diagnosis{
        .code = code::kMixedPrefix,
        .letter = "L8",
        .name = "Two families of optimizer files",
        .worst = Severity::Warning,
        .silent = true,
        .means = {.loading = "Stock DeepSpeed takes the family that fits the new run's precision, even if it "
                             "is older, and at most warns.",
            .resuming = "A run with the other precision resumes from an older state.",
            .exporting = "Scripts take the first family that matches."},
        .remedy = "write a copy with only the family that belongs to the model file",
        .repairs = true,
        .threads = "BS-MDS#280",
    },
    // Masters do not match the 16-bit copies in the recorded order, but match in another order.
    Diagnosis{
        .code = code::kParamOrder,
        .letter = "L9",
        .name = "Parameters are in another order than recorded",
        .silent = true,
        .means = {.loading = "Stock DeepSpeed slices by the recorded order and gives parameters the values "
                             "of others, silently.",
            .resuming = "At another world size the loss jumps.",
            .exporting = "Merged weights are scrambled."},
        .remedy = "rewrite the state in the right order",
        .repairs = true,
        .repairsFrom = Severity::Error,
        .threads = "DS#1999, DS#1822, DS#5283, DS#5342, DS#5395",
    },
    // The work folder or unfinished file of a job that was interrupted or is still running.
    Diagnosis{
        .code = code::kWorkFolder,
        .name = "Unfinished work of a job",
        .means = {.loading = "Stock DeepSpeed ignores it. If an export was moving its files into place, the "
                             "folder contains files of two exports."},
        .noRemedy = "run the interrupted command again to continue it; `shardscope clean` lists such "
                    "folders, and removes them with --remove",
    },
};

} // namespace

std::span<const Diagnosis> locationDiagnoses()
{
    return kDiagnoses;
}

} // namespace shardscope
