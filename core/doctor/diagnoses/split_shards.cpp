// SPDX-License-Identifier: Apache-2.0
#include "core/base/shell_quote.h"
#include "core/base/text.h"
#include "core/checkpoint/open.h"
#include "core/doctor/finding_sink.h"
#include "core/doctor/patient.h"
#include "core/doctor/saved_facts.h"

#include <algorithm>

namespace shardscope::diagnosis {

namespace {

constexpr size_t kMostFolders = 16; ///< that are opened; those beside the tag come first

std::vector<const CheckpointFile*> missingFiles(const Checkpoint& checkpoint)
{
    std::vector<const CheckpointFile*> out;
    for (const CheckpointFile& file : checkpoint.files) {
        if (file.status == FileStatus::Missing)
            out.push_back(&file);
    }
    return out;
}

/// Folders that may hold the rest: those beside the tag, and the same tag in those beside the run.
std::vector<io::Path> candidates(const Patient& patient)
{
    const Checkpoint& checkpoint = *patient.checkpoint;
    std::vector<io::Path> out;
    const auto addBelow = [&](const io::Path& folder, const std::string& inside) {
        for (const FolderEntry& entry : folderEntries(patient.files, folder)) {
            const io::Path path = inside.empty() ? folder / entry.name : folder / entry.name / inside;
            if (entry.isFolder && path != checkpoint.tagFolder)
                out.push_back(path);
        }
    };
    addBelow(checkpoint.runFolder, {});
    addBelow(checkpoint.runFolder.parent_path(), checkpoint.tag);
    return out;
}

std::string namesOf(const std::vector<const CheckpointFile*>& files)
{
    std::string out;
    for (size_t i = 0; i < files.size() && i < 4; ++i)
        out += (i == 0 ? "" : ", ") + toValidUtf8(files[i]->name);
    return files.size() > 4 ? out + " and " + std::to_string(files.size() - 4) + " more" : out;
}

Status look(const Patient& patient, FindingSink& sink)
{
    if (!patient.checkpoint || patient.checkpoint->tagFolder.empty())
        return {};
    const Checkpoint& checkpoint = *patient.checkpoint;
    const auto missing = missingFiles(checkpoint);
    if (missing.empty())
        return {};
    size_t opened = 0;
    for (const io::Path& folder : candidates(patient)) {
        const bool holdsOne = std::any_of(missing.begin(), missing.end(),
            [&](const CheckpointFile* file) { return patient.files.stat(folder / file->name).has_value(); });
        if (!holdsOne || ++opened > kMostFolders)
            continue;
        OpenOptions options;
        options.tag = checkpoint.tag;
        options.roots = {folder};
        const auto joined = openCheckpoint(patient.files, checkpoint.tagFolder, options, patient.job);
        SHARDSCOPE_CHECK(patient.job.poll());
        if (!joined || joined->checkpoint->modelError)
            continue;
        const Checkpoint& both = *joined->checkpoint;
        if (missingFiles(both).size() >= missing.size() || (!both.complete && missingFiles(both).empty()))
            continue; // the files there are of another step or run
        sink.add(Severity::Error, "files that are missing lie in another folder", {},
            {"in " + folder.string(), "missing here: " + namesOf(missing),
                both.complete ? "together they are whole: steps, options and values agree"
                              : "together they still lack " + namesOf(missingFiles(both))});
        return {};
    }
    return {};
}

std::string command(const Patient& patient, const Finding& finding)
{
    const std::string folder = finding.evidence.empty() ? "" : finding.evidence.front().substr(3);
    return reshardCommand(patient, finding) + " --root " + shellQuoted(folder);
}

} // namespace

/// One step's files in several folders. Seen by opening them together: steps, world size, options and samples
/// of values must agree.
extern const Diagnosis kSplitShards;
const Diagnosis kSplitShards{
    .code = "split-shards",
    .letter = "L4",
    .name = "One save in several folders",
    .depth = CheckDepth::Metadata,
    .means = {.loading = "Stock DeepSpeed looks into one folder and stops.",
        .resuming = "Nothing is lost: together they are the checkpoint.",
        .exporting = "Converters look into one folder."},
    .remedy = "join them on a copy: the folder that is named as a further root",
    .command = command,
    .threads = "DS#5405, PL#12864",
    .look = look,
};

} // namespace shardscope::diagnosis
