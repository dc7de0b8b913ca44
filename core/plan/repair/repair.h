// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room core/plan/repair: examines a checkpoint, fixes a copy of it in memory, and plans to write that. Start
// with planRepair(), then Amended (amended.h).

#include "core/describe/option.h"
#include "core/doctor/examine.h"
#include "core/plan/reshard/reshard.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace shardscope {

/// One change of a repair, for people and for repair.json.
struct RepairChange {
    std::string_view code; ///< of the finding that it repairs
    Place where; ///< as Finding::where
    std::string what; ///< one sentence
    std::string before; ///< the old value, if it is a value
    std::string after;
    bool reconstructed = false; ///< no run saved it: it is marked
};

struct RepairOptions {
    std::vector<std::string> fixes = {}; ///< codes or letters; "all": every finding with a fix
    /// Another checkpoint of the run that lost values may come from; empty: the nearest complete tag.
    std::string donor = {};
    /// Where lost masters come from. Default: the 16-bit copies if there are any, else the donor.
    enum class Masters { Default, Copies, Donor };
    Masters masters = Masters::Default;
    /// Where lost optimizer states come from. Default: the donor if there is one, else zeros.
    enum class Moments { Default, Zeros, Donor };
    Moments moments = Moments::Default;
    /// The depth of the check before the repair. Default: as deep as `fixes` needs, at least the metadata.
    /// Damage that only a full read finds is repaired only after a full read.
    std::optional<CheckDepth> depth = {};
    std::string tagOut = {};
    bool writePointer = true;
    std::vector<std::string> allow = {}; ///< as ReshardOptions::allow, for findings that remain
    /// Reviewed values, "NAME=VALUE": `step`, `global_steps`, `global_samples`, `skipped_steps`, `scale` (of
    /// the loss), `lr_scheduler.KEY`, and options of param groups as "[GROUP:]KEY". Values are spelled as in
    /// Python (core/plan/target/named_option.h).
    std::vector<std::string> values = {};
};

/// The table of the options. It refers to `of`, which must live as long.
OptionFields fieldsOf(RepairOptions& of);

/// What a repair was planned from. Paths are absolute: planRepair() gives the same plan again, wherever it is
/// called, while the source is the same.
struct RepairInput {
    io::Path path;
    OpenOptions open;
    RepairOptions options; ///< with the codes that are repaired as fixes
};

/// The facts of a plan that writes a repaired copy of a checkpoint, for the same number of ranks, stage and
/// form. It also has ReshardFacts.
struct RepairFacts {
    std::vector<RepairChange> changes;
    std::vector<std::string> fixed; ///< the codes that are repaired, in the order of the fixes
    std::set<std::string, std::less<>> found = {}; ///< the codes, above the severity info, of the source
    CheckDepth depth = CheckDepth::Metadata; ///< of the check of the source, and of the later one of the copy
    CheckpointPtr source; ///< as it was examined: the tag to repair
    RepairInput input;
};

/// The code of changes that set reviewed values.
inline constexpr std::string_view kSetCode = "set";

/// Name of the file in a repaired tag folder that records what was changed.
inline constexpr const char* kRepairName = "repair.json";

/// Examines PATH and plans to repair what `options` names. Writes nothing. Usage for words that do not name a
/// finding. NotFound if nothing of what is named was found. Unsupported for findings without a fix, with
/// their names and the reason. Refused if something that a fix needs is missing, or if other findings would
/// still make the result wrong. `shared`: processes that all plan this and share the reading of every byte.
Result<WritePlanPtr> planRepair(io::FileSystem& files, const io::Path& path, const OpenOptions& open,
    const RepairOptions& options, JobContext& job, SharedWork* shared = nullptr);

/// The source of a repaired copy, without the fixes that are undone: a repair with the remaining fixes, or a
/// copy of the source's own bytes.
struct UndoPlan {
    WritePlanPtr plan;
    CheckpointPtr source;
};
/// `undone`: codes or letters. Empty: all of them. NotACheckpoint if the copy was not repaired by this
/// program. SourceChanged if the source changed since then. NotFound if it no longer exists, or if none of
/// the named findings was repaired.
Result<UndoPlan> planUndo(io::FileSystem& files, const io::Path& repaired, const std::string& tag,
    const std::vector<std::string>& undone, bool writePointer, JobContext& job, SharedWork* shared = nullptr);

} // namespace shardscope
