// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/plan/saved: plans as JSON files, for the verbs `plan` and `run`. Start with SavedPlan.

#include "core/plan/export/export.h"
#include "core/plan/repair/repair.h"
#include "core/plan/reshard/reshard.h"

#include <string>
#include <variant>
#include <vector>

namespace shardscope {

/// A plan as a file: the decisions and their inputs, so that another process can run exactly this plan.
///
/// It holds no recipes. The process that runs it plans again from the same source and options.
/// checkSavedPlan() refuses if the result differs from the saved one. Schema `shardscope/saved-plan/1`.
struct SavedPlan {
    struct Source {
        std::string name; ///< relative to the tag folder
        io::FileIdentity identity;
        std::string records; ///< recordsDigest(); empty in files of older releases
        bool noChecksums = false; ///< of its records; then its inode and time of change are saved
    };

    std::string verb; ///< "reshard", "convert", "export", "repair"
    io::Path source; ///< run folder, absolute; of a repair: what was examined
    std::string tag;
    std::vector<io::Path> roots; ///< further folders with ranks of the tag, absolute
    bool salvage = false; ///< OpenOptions::salvage
    std::optional<CheckpointKind> kind = {}; ///< OpenOptions::kind
    io::Path destination; ///< DST, absolute; the options of an export do not include its name
    std::variant<ReshardOptions, ExportOptions, RepairOptions> options;
    std::string id;
    std::vector<Source> sources;
    std::vector<PlannedFile> files;
};

/// The saved form of a plan, ready to be written; `asked`: how its source was opened. Of a repair, all that
/// is what it was planned from. Not for copies, which have no options.
SavedPlan savePlan(
    const WritePlan& plan, const Checkpoint& source, const OpenOptions& asked, const io::Path& destination);

/// The JSON schema of the file.
std::string savedPlanSchema();
/// The file's text: JSON, indented, with a newline at the end. The same plan gives the same bytes.
std::string savedPlanText(const SavedPlan& saved);
/// Usage if the text is not a saved plan. Unsupported for a verb or schema version that this build does not
/// know.
Result<SavedPlan> parseSavedPlan(const std::string& text, const std::string& path);

/// Success if `plan`, made now, equals the saved one: same id, same files and sizes, and sources with the
/// same records and checksums. Else SourceChanged, with the first changed source file. A source without
/// checksums counts as changed if it is the same file with another time of change.
Status checkSavedPlan(const SavedPlan& saved, const WritePlan& plan);

/// How its source is opened.
OpenOptions openOptionsOf(const SavedPlan& saved);

/// A saved plan, planned again.
struct PlannedAgain {
    WritePlanPtr plan;
    CheckpointPtr source;
    io::Path folder; ///< the parent folder of the plan's target
};
/// Plans again from the same source, and checks it. `destination`: DST, where it is not the saved one;
/// `shared` as in planRepair(). Errors: those of opening and planning, where damage is a refusal, and of
/// checkSavedPlan(). SourceChanged too if what a repair is for is not found any more.
Result<PlannedAgain> planAgain(io::FileSystem& files, const SavedPlan& saved, const io::Path& destination,
    JobContext& job, SharedWork* shared = nullptr);

} // namespace shardscope
