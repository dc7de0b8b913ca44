// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding.h"

#include "core/base/finding_codes.h"

#include <array>

namespace shardscope {

std::string_view severityName(Severity severity)
{
    switch (severity) {
    case Severity::Info:
        return "info";
    case Severity::Warning:
        return "warning";
    case Severity::Error:
        return "error";
    }
    return "error";
}

namespace code {

std::span<const std::string_view> all()
{
    static constexpr std::array kAll{kLatestMissing, kLatestDangling, kRankMissing, kRankForeign,
        kModelStatesMissing, kStaleFile, kForeignFile, kMixedPrefix, kSequenceNames, kFileUnreadable,
        kFileTorn, kFileHostile, kRecordCorrupt, kRecordMissing, kRecordUnchecked, kRecordUnused,
        kTrailingData, kUnalignedPayload, kPickleOpaque, kPickleDangerous, kTensorInvalid, kParamOrder,
        kStateLength, kStepMismatch, kOptionMismatch, kOptionMissing, kStateMissing, kOptimizerMissing,
        kAliasUnrecorded, kNotSupported, kClientStatePerRank, kSubGroupSize, kStockLoaderTrap, kNewerRelease,
        kSwapMissing, kSwapUnmapped, kSwapMismatch, kSwapCopy, kUniversalOverlong, kUniversalSource,
        kUniversalRoundRobin, kMarked, kSkeleton, kWorkFolder};
    return kAll;
}

} // namespace code
} // namespace shardscope
