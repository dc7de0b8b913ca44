// SPDX-License-Identifier: Apache-2.0
#include "core/plan/amended.h"

#include "core/base/finding_codes.h"

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
    std::erase_if(checkpoint->findings, [&](const Finding& other) { return isSame(finding, other); });
}

void Amended::mend(const Finding& finding, std::string what, std::string before, std::string after)
{
    changes.push_back(
        {finding.code, finding.where, std::move(what), std::move(before), std::move(after), false});
    settle(finding);
}

void Amended::mark(std::string_view code, std::string where, std::string what)
{
    checkpoint->findings.push_back({code::kMarked, Severity::Warning, what, where, {}});
    changes.push_back({code, std::move(where), std::move(what), {}, {}, true});
}

std::span<const RepairFix> repairFixes()
{
    // What is left out first, so that it is no rank's; what a file can still give before it is given up.
    static constexpr std::array kAll{
        RepairFix{code::kStaleFile, leaveOut},
        RepairFix{code::kMixedPrefix, leaveOut},
        RepairFix{code::kTrailingData, writeAnew},
        RepairFix{"bad-world-size-field", writeAnew},
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
        RepairFix{"universal-parameter-skipped", takeOtherStatesOfParams},
        RepairFix{"masters-not-copies", takeFittingMasters, true},
        RepairFix{"non-finite", takeSoundValues, true},
        RepairFix{"step-off-counters", takeCounters},
        RepairFix{"schedule-discontinuity", takeSchedule},
        RepairFix{"tied-diverged", takeOwners},
        RepairFix{"universal-info-missing", addUniversalInfo},
        RepairFix{"frozen-bloat", stripFrozen},
        RepairFix{"storage-bloat", writeAnew},
    };
    return kAll;
}

Status leaveOut(Amended& amended, const std::vector<const Finding*>& findings)
{
    for (const Finding* finding : findings)
        amended.mend(*finding, "left out of the copy: " + finding->message);
    return {};
}

Status writeAnew(Amended& amended, const std::vector<const Finding*>& findings)
{
    for (const Finding* finding : findings)
        amended.mend(*finding, "written anew, so that it is no longer true: " + finding->message);
    return {};
}

} // namespace shardscope
