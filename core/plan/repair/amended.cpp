// SPDX-License-Identifier: Apache-2.0
#include "core/plan/repair/amended.h"

#include "core/base/finding_codes.h"
#include "core/doctor/split_folders.h"
#include "core/layout/address.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

bool isSame(const Finding& a, const Finding& b)
{
    return a.code == b.code && a.where == b.where && a.message == b.message;
}

} // namespace

void Amended::settle(const Finding& finding)
{
    std::erase_if(findings(), [&](const Finding& other) { return isSame(finding, other); });
}

void Amended::repair(const Finding& finding, std::string what, std::string before, std::string after)
{
    recordChange({finding.code, finding.where, std::move(what), std::move(before), std::move(after), false});
    settle(finding);
}

void Amended::mark(std::string_view code, Place where, std::string what, std::vector<Place> exactly)
{
    findings().push_back({code::kMarked, Severity::Warning, what, where, {}, {}, std::move(exactly)});
    recordChange({code, std::move(where), std::move(what), {}, {}, true});
}

const std::string& Amended::nameOf(ParamId param) const
{
    return (whole ? *whole->source : *source).params[firstParam + index(param)].name;
}

std::optional<Amended::NamedState> Amended::stateAt(const Place& where) const
{
    const Checkpoint& all = whole ? *whole->source : *source;
    const ParamAddress* named = where.param();
    if (named == nullptr || named->state.empty())
        return std::nullopt;
    if (const auto param = all.findParam(named->name)) {
        if (index(*param) < firstParam || index(*param) - firstParam >= source->params.size())
            return std::nullopt;
        return NamedState{ParamId{index(*param) - firstParam}, named->state};
    }
    const auto own = source->findParam(named->name); // the name in the part
    return own ? std::optional(NamedState{*own, named->state}) : std::nullopt;
}

std::string Amended::rankName(uint32_t dpRank) const
{
    return "rank "
        + (whole ? rankText({dpRank, source->place.tp, source->place.pp}) : std::to_string(dpRank));
}

std::span<const RepairFix> repairFixes()
{
    using Reach = RepairFix::Reach;
    // The order matters. Files to omit come first, so that they belong to no rank. Partly readable files come
    // before fixes that count them as lost.
    static constexpr std::array kAll{
        RepairFix{kSplitShards, mergeFolders, false, Reach::Whole},
        RepairFix{code::kStaleFile, leaveOut, false, Reach::Whole},
        RepairFix{code::kMixedPrefix, leaveOut, false, Reach::Whole},
        RepairFix{code::kSequenceNames, takeStockNames, false, Reach::Whole},
        RepairFix{code::kTrailingData, rewriteFiles, false, Reach::Whole},
        RepairFix{code::kUnalignedPayload, rewriteFiles, false, Reach::Whole},
        RepairFix{code::kRecordUnused, rewriteFiles, false, Reach::Whole},
        RepairFix{code::kRecordUnchecked, rewriteFiles, false, Reach::Whole},
        RepairFix{"bad-world-size-field", rewriteFiles, false, Reach::Whole},
        RepairFix{"moe-incomplete", makeExpertFiles},
        RepairFix{code::kModelStatesMissing, takeOtherModel},
        RepairFix{"frozen-lost", graftFrozen},
        RepairFix{"buffers-lost", graftBuffers},
        RepairFix{code::kParamOrder, putInOrder},
        RepairFix{code::kUniversalRoundRobin, putInOwnFiles},
        RepairFix{code::kFileTorn, takeRecovered},
        RepairFix{code::kRecordCorrupt, takeOtherRecords, true},
        RepairFix{code::kRecordMissing, takeOtherRecords},
        RepairFix{code::kRankMissing, giveUpShards},
        RepairFix{code::kRankForeign, giveUpShards},
        RepairFix{code::kStateLength, giveUpShards},
        RepairFix{code::kStepMismatch, takeMajority},
        RepairFix{code::kOptionMismatch, takeMajority},
        RepairFix{code::kStateMissing, takeOtherStates},
        RepairFix{code::kSwapMissing, takeOtherSwapped},
        RepairFix{code::kSwapMismatch, takeOtherThanSwapped},
        RepairFix{code::kSwapCopy, rewriteFiles, false, Reach::Whole},
        RepairFix{"universal-parameter-skipped", takeOtherStatesOfParams},
        RepairFix{"masters-not-copies", takeFittingMasters, true},
        RepairFix{"non-finite", takeSoundValues, true},
        RepairFix{"step-off-counters", takeCounters, false, Reach::Each},
        RepairFix{"schedule-discontinuity", takeSchedule, false, Reach::Each},
        RepairFix{"tied-diverged", takeOwners},
        RepairFix{"universal-info-missing", addUniversalInfo},
        RepairFix{"frozen-bloat", stripFrozen},
        RepairFix{code::kUniversalOverlong, rewriteFiles, false, Reach::Whole},
        RepairFix{"storage-bloat", rewriteFiles, false, Reach::Whole},
    };
    return kAll;
}

Status mergeFolders(Amended& amended, const std::vector<const Finding*>& findings)
{
    for (const Finding* finding : findings) {
        std::string folders;
        for (const std::string& folder : finding->folders)
            folders += (folders.empty() ? "`" : "`, `") + folder;
        amended.repair(*finding, "merged into one folder, with the files of " + folders + "`");
    }
    return {};
}

Status leaveOut(Amended& amended, const std::vector<const Finding*>& findings)
{
    for (const Finding* finding : findings)
        amended.repair(*finding, "omitted from the copy: " + finding->message);
    return {};
}

Status takeStockNames(Amended& amended, const std::vector<const Finding*>& findings)
{
    for (const Finding* finding : findings)
        amended.repair(*finding, "renamed, with all others of its kind: `mp_rank_00` in the name");
    return {};
}

Status rewriteFiles(Amended& amended, const std::vector<const Finding*>& findings)
{
    amended.rewriteAll = true;
    for (const Finding* finding : findings)
        amended.repair(*finding, "rewritten, so that this no longer applies: " + finding->message);
    return {};
}

} // namespace shardscope
