// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/finding.h"
#include "core/base/result.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shardscope {

class FindingSink;
struct CheckContext;

/// The depth of a check. Each tier includes those before it.
enum class CheckDepth {
    Names, ///< folders, names and sizes of files, and the file that records how many ranks saved
    Headers, ///< the first bytes and the end record of every file
    Metadata, ///< every file's directory and pickle, and samples of a few elements
    Bytes, ///< every byte
};
std::string_view checkDepthName(CheckDepth depth); ///< "names", "headers", "metadata", "bytes"
std::optional<CheckDepth> parseCheckDepth(std::string_view name);

/// Consequences of a finding for the user of the checkpoint: one sentence each, empty if there is none.
struct Meaning {
    std::string_view loading = {}; ///< `engine.load_checkpoint` of stock DeepSpeed
    std::string_view resuming = {}; ///< resuming training
    std::string_view exporting = {}; ///< weights for other tools
};

/// A problem that a checkpoint can have: how it is detected, its consequences, its repair.
///
/// All are rows of the tables in core/doctor/diagnoses (diagnosis_tables.h). Findings of one without `look`
/// are raised by the readers of core/checkpoint.
struct Diagnosis {
    std::string_view code = {}; ///< kebab-case, as in Finding::code; unique
    std::string_view letter = {}; ///< an alias in common use, "L6"; several codes may share one
    std::string_view name = {}; ///< for users, "Files of a rank are missing"
    CheckDepth depth = CheckDepth::Metadata; ///< the minimum depth that detects it
    /// Compares the files with what the first of them says of ranks and experts. A check of the metadata does
    /// so when it has opened all of the checkpoint, a check of names opens only that file.
    bool countsFiles = false;
    Severity worst = Severity::Error; ///< of its findings
    bool silent = false; ///< stock DeepSpeed loads it silently
    bool needsTarget = false; ///< only detected with a CheckTarget
    Meaning means = {};
    /// How to repair it, in words. If empty, `noRemedy` says why it cannot be repaired.
    std::string_view remedy = {};
    std::string_view noRemedy = {};
    /// Whether `repair --fix CODE` does what `remedy` says.
    bool repairs = false;
    Severity repairsFrom = Severity::Warning; ///< findings below this are not changed
    /// Another command that repairs it, without the program's name; empty if it cannot repair this one.
    std::string (*command)(const CheckContext& context, const Finding& finding) = nullptr;
    std::string_view threads = {}; ///< public reports of the problem, "DS#2319, HF#22170"
    /// Adds findings. An error other than Cancelled means that it could not run, and becomes a finding.
    /// Called from any thread, in parallel with others of its tier.
    Status (*look)(const CheckContext& context, FindingSink& sink) = nullptr;
};

/// All diagnoses, ordered by code.
std::span<const Diagnosis* const> diagnoses();
/// The diagnosis with this code; null if there is none.
const Diagnosis* findDiagnosis(std::string_view code);
/// The same; for a code that no diagnosis has, the one of checks that failed ("not-examined").
const Diagnosis& diagnosisOf(std::string_view code);
/// Whether `word` names it: its code, or its letter in any case.
bool isNamedBy(const Diagnosis& diagnosis, std::string_view word);
/// Whether `repair --fix` repairs this finding of the diagnosis.
bool repairs(const Diagnosis& diagnosis, const Finding& finding);

} // namespace shardscope
