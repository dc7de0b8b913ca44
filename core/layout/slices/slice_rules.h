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

/// How the tensor slices of one parameter form the whole.
struct SliceRule {
    enum class Merge : uint8_t {
        Concatenated, ///< along `dimension`
        Replicated, ///< every slice equals the whole
        Averaged, ///< their mean
        TwoHalves, ///< first halves of all slices, then second halves, along dimension 0
        SubParams, ///< like TwoHalves, with any number and sizes, along `dimension`
    };
    Merge merge = Merge::Concatenated;
    uint32_t dimension = 0;
    bool isNamed = false; ///< named by a pattern; else DeepSpeed's default
    std::optional<uint64_t> vocabulary; ///< rows without padding
    /// For SubParams: the whole's dimensions. At `dimension`: each sub-parameter's size, or the number of
    /// equal ones. One other entry may be -1: the rest of the elements.
    std::vector<int64_t> shape;
    std::vector<int64_t> subSizes;
    bool isCount = false; ///< subSizes is the number of equal sub-parameters
    std::vector<std::string> patterns; ///< patterns of the entry that applies
    std::vector<std::vector<uint64_t>> widths; ///< per sub-parameter, per slice; empty: split evenly
};

/// "^layers\.0\.up_proj\.weight$" → "layers.0.up_proj.weight": AutoTP writes names as patterns that match one
/// name each. Nothing if a pattern is more than a name.
std::optional<std::string> nameOfPattern(std::string_view pattern);

/// Patterns that say how slices merge. They come from `universal_checkpoint_info`
/// (deepspeed/checkpoint/constants.py), which Megatron-DeepSpeed and AutoTP record in a checkpoint, or from a
/// file with the same content as a JSON object. They are regular expressions that match from the start of a
/// name, as in checkpoint/ds_to_universal.py. RE2 evaluates them in time linear in the name's length.
/// Immutable; thread-safe.
class SliceRules
{
public:
    /// Usage, with `path`, if the text is not such an object: unknown keys, values of another type, invalid
    /// expressions.
    static Result<SliceRules> fromJson(std::string_view text, const std::string& path);
    /// The patterns that a checkpoint records. Nothing if it names none. Damaged for the errors above.
    static Result<std::optional<SliceRules>> recorded(
        const PickleGraph& graph, NodeId info, const std::string& path);

    /// Damaged or Usage if patterns contradict each other for a name.
    [[nodiscard]] Result<SliceRule> ruleFor(std::string_view name) const;
    /// The first pattern that matches none of the names. Empty if each pattern matches one.
    [[nodiscard]] std::string unusedPattern(const std::vector<std::string>& names) const;

private:
    struct Patterns;
    explicit SliceRules(std::shared_ptr<const Patterns> patterns);
    std::shared_ptr<const Patterns> m_patterns;
};

} // namespace shardscope
