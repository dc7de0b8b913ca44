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

/// How deep the doctor looks. Each tier includes those before it.
enum class CheckDepth {
    Names, ///< folders, names and sizes of files
    Headers, ///< the first bytes and the end record of every file
    Metadata, ///< every file's directory and pickle, and samples of a few elements
    Bytes, ///< every byte
};
std::string_view checkDepthName(CheckDepth depth); ///< "names", "headers", "metadata", "bytes"
std::optional<CheckDepth> parseCheckDepth(std::string_view name);

/// What a finding means for who goes on with the checkpoint: a sentence each, empty where it means nothing.
struct Meaning {
    std::string_view loading = {}; ///< `engine.load_checkpoint` of stock DeepSpeed
    std::string_view resuming = {}; ///< training on
    std::string_view exporting = {}; ///< weights for other tools
};

/// Something that can be wrong with a checkpoint: what tells it, what it means, what repairs it.
///
/// Each is one file of core/doctor/diagnoses, named like its constant; the registry lists them by itself. A
/// diagnosis without `look` is seen by the readers of core/checkpoint, which raise its code.
struct Diagnosis {
    std::string_view code = {}; ///< kebab-case, as in Finding::code; unique
    std::string_view letter = {}; ///< an alias in common use, "L6"; several codes may share one
    std::string_view name = {}; ///< for people, "Files of a rank are missing"
    CheckDepth depth = CheckDepth::Metadata; ///< the least at which it is seen
    Severity worst = Severity::Error; ///< of its findings
    bool silent = false; ///< stock DeepSpeed loads it silently
    bool needsTarget = false; ///< only seen for a CheckTarget
    Meaning means = {};
    /// What repairs it, in words. Where it is empty, `noRemedy` says why nothing does.
    std::string_view remedy = {};
    std::string_view noRemedy = {};
    /// Whether `repair --fix CODE` does what `remedy` says.
    bool repairs = false;
    Severity repairsFrom = Severity::Warning; ///< what is less than this is left as it is
    /// The command that does it otherwise, without the program's name; empty for a finding that it cannot
    /// repair.
    std::string (*command)(const CheckContext& context, const Finding& finding) = nullptr;
    std::string_view threads = {}; ///< public threads of people who had it, "DS#2319, HF#22170"
    /// Adds what it sees; an error (but Cancelled) means that it could not look, which becomes a finding.
    /// Called from any thread, beside the others of its tier.
    Status (*look)(const CheckContext& context, FindingSink& sink) = nullptr;
};

/// All of them, by code.
std::span<const Diagnosis* const> diagnoses();
/// By code; null when there is none.
const Diagnosis* findDiagnosis(std::string_view code);
/// Whether `word` names it: its code, or its letter in any case.
bool isNamedBy(const Diagnosis& diagnosis, std::string_view word);
/// Whether `repair --fix` repairs this finding of it.
bool repairs(const Diagnosis& diagnosis, const Finding& finding);

} // namespace shardscope
