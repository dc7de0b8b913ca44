// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

constexpr uint64_t kPatternsLimitBytes = uint64_t{1} << 20; ///< of a file of patterns

/// How the tensor slices of one parameter make up the whole.
struct SliceRule {
    enum class Join : uint8_t {
        Concatenated, ///< along `dimension`
        Replicated, ///< every slice is the whole
        Averaged, ///< their mean
        TwoHalves, ///< first halves of all slices, then second halves, along dimension 0
        SubParams, ///< as TwoHalves with any number and sizes, along `dimension`
    };
    Join join = Join::Concatenated;
    uint32_t dimension = 0;
    bool isNamed = false; ///< by a pattern; else it is what DeepSpeed does with the rest
    std::optional<uint64_t> vocabulary; ///< rows without padding
    /// SubParams: the whole's dimensions, at `dimension` each sub-parameter's size, or one number of equal
    /// ones; one other may be -1, which stands for what is left.
    std::vector<int64_t> shape;
    std::vector<int64_t> subSizes;
    bool isCount = false; ///< subSizes is the number of equal sub-parameters
    std::vector<std::string> patterns; ///< of the entry that holds for it
    std::vector<std::vector<uint64_t>> widths; ///< per sub-parameter, per slice; empty: split evenly
};

/// "^layers\.0\.up_proj\.weight$" → "layers.0.up_proj.weight": AutoTP writes names as patterns, each matching
/// one name. Nothing for a pattern that says more than a name.
std::optional<std::string> nameOfPattern(std::string_view pattern);

/// Patterns that say how slices join: those of `universal_checkpoint_info` (deepspeed/checkpoint/
/// constants.py), which Megatron-DeepSpeed and AutoTP record in a checkpoint, or the same as a JSON object in
/// a file. Regular expressions that match from the start of a name, as checkpoint/ds_to_universal.py matches
/// them; RE2 reads them, in time that grows with the name's length only. Immutable; thread-safe.
class SliceRules
{
public:
    /// Usage, naming `path`, for what is no such object: unknown keys, values of another type, expressions
    /// that cannot be read.
    static Result<SliceRules> fromJson(std::string_view text, const std::string& path);
    /// What a checkpoint records; nothing where it names no patterns. Damaged as above.
    static Result<std::optional<SliceRules>> recorded(
        const PickleGraph& graph, NodeId info, const std::string& path);

    /// Damaged or Usage where patterns contradict each other about a name.
    [[nodiscard]] Result<SliceRule> ruleFor(std::string_view name) const;
    /// The first pattern that none of the names fits; empty where each has one.
    [[nodiscard]] std::string unusedPattern(const std::vector<std::string>& names) const;

private:
    struct Patterns;
    explicit SliceRules(std::shared_ptr<const Patterns> patterns);
    std::shared_ptr<const Patterns> m_patterns;
};

} // namespace shardscope
