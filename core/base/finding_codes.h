// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

/// The one table of finding codes. A code is added here and in finding.cpp's list, nowhere else.
namespace shardscope::code {

// folder
inline constexpr std::string_view kLatestMissing = "latest-missing";
inline constexpr std::string_view kLatestDangling = "latest-dangling";
inline constexpr std::string_view kRankMissing = "rank-missing";
inline constexpr std::string_view kRankForeign = "rank-foreign"; ///< from another world size, step or run
inline constexpr std::string_view kModelStatesMissing = "model-states-missing";
inline constexpr std::string_view kStaleFile = "stale-file"; ///< left by a larger or earlier save
inline constexpr std::string_view kForeignFile = "foreign-file"; ///< not part of a checkpoint
inline constexpr std::string_view kMixedPrefix = "precision-prefix"; ///< bf16_zero_* next to zero_*
inline constexpr std::string_view kSequenceNames = "sequence-names"; ///< sequence ranks in names of files
// one file
inline constexpr std::string_view kFileUnreadable = "file-unreadable";
inline constexpr std::string_view kFileTorn = "file-torn"; ///< truncated, directory lost
inline constexpr std::string_view kFileHostile = "file-hostile";
inline constexpr std::string_view kRecordCorrupt = "record-corrupt"; ///< CRC wrong
inline constexpr std::string_view kRecordMissing = "record-missing";
inline constexpr std::string_view kRecordUnchecked = "record-unchecked"; ///< saved without CRC
inline constexpr std::string_view kRecordUnused = "record-unused";
inline constexpr std::string_view kTrailingData = "trailing-data";
inline constexpr std::string_view kUnalignedPayload = "unaligned-payload";
inline constexpr std::string_view kPickleOpaque = "pickle-opaque"; ///< unknown class, copied unchanged
inline constexpr std::string_view kPickleDangerous
    = "pickle-dangerous"; ///< names code that would run in Python
inline constexpr std::string_view kTensorInvalid = "tensor-invalid";
// model
inline constexpr std::string_view kParamOrder
    = "param-order"; ///< evidence contradicts the recorded order of parameters in the flat buffers
inline constexpr std::string_view kStateLength
    = "state-length"; ///< a shard shorter or longer than the layout
inline constexpr std::string_view kStepMismatch = "step-mismatch";
inline constexpr std::string_view kOptionMismatch = "option-mismatch"; ///< ranks disagree about group options
inline constexpr std::string_view kOptionMissing
    = "option-missing"; ///< group options that the checkpoint does not hold, and where they come from
inline constexpr std::string_view kStateMissing = "state-missing"; ///< no optimizer state for a group
inline constexpr std::string_view kOptimizerMissing
    = "optimizer-missing"; ///< weights without masters and optimizer states
inline constexpr std::string_view kAliasUnrecorded = "alias-unrecorded";
inline constexpr std::string_view kNotSupported = "not-supported";
inline constexpr std::string_view kClientStatePerRank = "client-state-per-rank";
inline constexpr std::string_view kSubGroupSize = "sub-group-size";
inline constexpr std::string_view kNewerRelease = "newer-release"; ///< of DeepSpeed than those tested
inline constexpr std::string_view kStockLoaderTrap = "stock-loader-trap";
// NVMe swap files
inline constexpr std::string_view kSwapMissing = "swap-missing"; ///< absent, too short, or of no known rank
inline constexpr std::string_view kSwapUnmapped = "swap-unmapped"; ///< the sub-group of a file is not certain
inline constexpr std::string_view kSwapMismatch
    = "swap-mismatch"; ///< its content does not belong to this checkpoint
inline constexpr std::string_view kSwapCopy
    = "swap-copy"; ///< tensors of the optimizer files that the swap files replace
// universal folder
inline constexpr std::string_view kUniversalOverlong
    = "universal-overlong"; ///< more elements than the parameter has: a bug of the converter
inline constexpr std::string_view kUniversalSource
    = "universal-source"; ///< traces of the source's parallelism or padding
inline constexpr std::string_view kUniversalRoundRobin
    = "universal-from-round-robin"; ///< parameters hold pieces of others: a bug of the converter

// results of this program
inline constexpr std::string_view kMarked = "marked"; ///< not what a run saved: written despite a finding
inline constexpr std::string_view kWorkFolder = "work-folder"; ///< of an unfinished job
inline constexpr std::string_view kSkeleton = "skeleton"; ///< without values, made for a bug report

std::span<const std::string_view> all();

} // namespace shardscope::code
