// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/finding.h"
#include "core/compare/health/health_history.h"

#include <array>

namespace shardscope {

// Codes of alarms.
inline constexpr std::string_view kNotRead = "not-read"; ///< a tag, or elements of a layer, which say nothing
inline constexpr std::string_view kNotFinite = "not-finite"; ///< NaN or infinite values
inline constexpr std::string_view kUpdateOutlier = "update-outlier"; ///< against layers that are built alike
inline constexpr std::string_view kWeightsOutlier = "weights-outlier";
inline constexpr std::string_view kGradientOutlier = "gradient-outlier";
inline constexpr std::string_view kWeightsMoved = "weights-moved"; ///< further than the steps allow
inline constexpr std::string_view kLearningRateSpike = "learning-rate-spike";
inline constexpr std::string_view kMomentsReset = "moments-reset"; ///< zeroed, or replaced by younger ones
inline constexpr std::string_view kRankStale = "rank-stale"; ///< a rank's state is that of another tag
inline constexpr std::array kAlarmCodes{kNotRead, kNotFinite, kUpdateOutlier, kWeightsOutlier,
    kGradientOutlier, kWeightsMoved, kLearningRateSpike, kMomentsReset, kRankStale};

/// What looks wrong, on what, in words.
struct HealthAlarm {
    std::string_view code;
    Severity severity = Severity::Warning;
    std::string tag;
    std::string layer; ///< empty: the whole tag, or a rank
    std::optional<RankCoordinate> rank;
    std::string text; ///< one sentence without a full stop; names layer, rank and tags
};

/// Of the tags of a run, oldest first, or of a single tag. A single tag is compared with itself: layers that
/// are built alike, at least five of them. Two tags are compared by what the optimizer's rule allows between
/// them: second moments shrink at most by β₂ in a step, and weights move at most by a multiple of the
/// learning rate. Tags, and layers with elements, that cannot be read are named and not compared. Rules that
/// are not known are not judged.
std::vector<HealthAlarm> findAlarms(const std::vector<TagHealth>& tags);

/// How many of them say that something looks wrong: all but kNotRead.
size_t countWrong(const std::vector<HealthAlarm>& alarms);

/// Whether any value of the tag could be read.
bool wasRead(const TagHealth& tag);

/// What of a tag is not judged because the tag does not have it, with the reason: "updates and moments: there
/// are no optimizer states". Without a full stop; empty if everything was judged. What cannot be read has
/// alarms (kNotRead), too.
std::string notJudgedText(const TagHealth& tag);

} // namespace shardscope
