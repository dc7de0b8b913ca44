// SPDX-License-Identifier: Apache-2.0
#include "core/layout/slices/slice_rules.h"

#include "core/base/text.h"

#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include <array>
#include <map>

namespace shardscope {

namespace {

using Json = nlohmann::json;

constexpr size_t kMaxPatterns = 4096;
constexpr size_t kLongestPattern = 1024;
constexpr int kDeepest = 6;
constexpr size_t kMaxValues = 200'000; ///< lists of a pickle may contain each other many times

constexpr std::string_view kVocabulary = "vocabulary_parameter_patterns";
constexpr std::string_view kPipelineReplicated = "pipeline_replicated_parameter_patterns";
constexpr std::string_view kAverage = "parameter_to_average_patterns";
constexpr std::string_view kRows = "parameter_with_row_parallelism_patterns";
constexpr std::string_view kReplicated = "tp_replicated_parameter_patterns";
constexpr std::string_view kTwoHalves = "parameter_with_2_sub_params_cat_dim_0";
constexpr std::string_view kSubParams = "parameter_with_sub_params";
constexpr std::array<std::string_view, 6> kLists{
    kVocabulary, kPipelineReplicated, kAverage, kRows, kReplicated, kTwoHalves};
/// Keys of the object that are not patterns.
constexpr std::array<std::string_view, 7> kOthers{kSubParams, "sub_param_shard_widths", "original_vocab_size",
    "padded_vocab_size", "universal_checkpoint_version", "affine_map",
    "autotp_unsupported_parameter_patterns"};

/// Converts a pickle's value to the JSON form of a file. Null for anything else.
Json jsonOf(const PickleGraph& graph, NodeId node, int depth, size_t& left)
{
    if (node == kNoNode || depth > kDeepest || left == 0)
        return {};
    --left;
    if (const auto text = asString(graph, node))
        return toValidUtf8(*text);
    if (const auto number = asInteger(graph, node))
        return *number;
    if (const auto number = asNumber(graph, node))
        return *number;
    if (graph.kind(node) == NodeKind::List || graph.kind(node) == NodeKind::Tuple) {
        Json out = Json::array();
        for (const NodeId item : sequenceItems(graph, node)) {
            if (left == 0)
                break;
            out.push_back(jsonOf(graph, item, depth + 1, left));
        }
        return out;
    }
    if (!isMapping(graph, node))
        return {};
    Json out = Json::object();
    const auto items = mappingItems(graph, node);
    for (size_t i = 0; i + 1 < items.size() && left > 0; i += 2) {
        if (const auto key = asString(graph, items[i]))
            out[toValidUtf8(*key)] = jsonOf(graph, items[i + 1], depth + 1, left);
    }
    return out;
}

std::unique_ptr<re2::RE2> expressionOf(const std::string& pattern)
{
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(1 << 20);
    auto out = std::make_unique<re2::RE2>(pattern, options);
    return out->ok() ? std::move(out) : nullptr;
}

bool matches(const re2::RE2& expression, std::string_view name)
{
    return expression.Match({name.data(), name.size()}, 0, name.size(), re2::RE2::ANCHOR_START, nullptr, 0);
}

std::optional<std::vector<uint64_t>> countsOf(const Json& list)
{
    std::vector<uint64_t> out;
    if (!list.is_array() || list.size() > kMaxPatterns)
        return std::nullopt;
    for (const Json& item : list) {
        if (!item.is_number_integer() || item.get<int64_t>() < 0)
            return std::nullopt;
        out.push_back(item.get<uint64_t>());
    }
    return out;
}

} // namespace

std::optional<std::string> nameOfPattern(std::string_view pattern)
{
    if (!pattern.starts_with('^') || !pattern.ends_with('$') || pattern.size() < 2)
        return std::nullopt;
    pattern = pattern.substr(1, pattern.size() - 2);
    std::string out;
    for (size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == '\\' && ++i == pattern.size())
            return std::nullopt;
        const bool escaped = i > 0 && pattern[i - 1] == '\\';
        if (!escaped && std::string_view(".^$*+?{}[]|()").find(pattern[i]) != std::string_view::npos)
            return std::nullopt;
        out += pattern[i];
    }
    return out;
}

struct SliceRules::Patterns {
    struct Pattern {
        std::string text;
        std::unique_ptr<re2::RE2> expression;
    };
    std::map<std::string_view, std::vector<Pattern>> lists; ///< by category
    struct SubParams {
        std::vector<Pattern> patterns;
        SliceRule rule;
    };
    std::vector<SubParams> subParams;
    std::map<std::string, std::vector<std::vector<uint64_t>>, std::less<>> widths; ///< by pattern
    std::optional<uint64_t> vocabulary;
    bool hasWidths = false; ///< 0.4 and later record them
    /// Parameters with a layout that AutoTP could not describe, with its reason (module_inject/layers.py).
    std::vector<std::pair<Pattern, std::string>> unsupported;
    bool isFile = false;
    std::string path;

    [[nodiscard]] tl::unexpected<Error> bad(const std::string& what) const
    {
        return isFile
            ? fail(ErrorCode::Usage, "the file of patterns " + what, path,
                "the keys are those of DeepSpeed's `universal_checkpoint_info`; `man shardscope` names them")
            : fail(ErrorCode::Damaged, "`universal_checkpoint_info` " + what, path,
                "give the patterns in a file with --patterns");
    }

    Status read(const Json& object)
    {
        for (const auto& [key, value] : object.items()) {
            const bool known = std::find(kLists.begin(), kLists.end(), key) != kLists.end()
                || std::find(kOthers.begin(), kOthers.end(), key) != kOthers.end();
            if (isFile && !known)
                return bad("has an unknown key: `" + key + "`");
        }
        for (const std::string_view key : kLists) {
            if (object.contains(key))
                SHARDSCOPE_CHECK(readList(object.at(std::string(key)), std::string(key), lists[key]));
        }
        if (object.contains("original_vocab_size")) {
            const Json& size = object.at("original_vocab_size");
            if (!size.is_number_integer() || size.get<int64_t>() <= 0)
                return bad("has an `original_vocab_size` that is not a number of rows");
            vocabulary = size.get<uint64_t>();
        }
        if (object.contains("universal_checkpoint_version")) {
            const Json& version = object.at("universal_checkpoint_version");
            hasWidths = version.is_number() && version.get<double>() >= 0.4;
        }
        SHARDSCOPE_CHECK(readWidths(object));
        SHARDSCOPE_CHECK(readUnsupported(object));
        return object.contains(kSubParams) ? readSubParams(object.at(std::string(kSubParams))) : Status();
    }

    Status readList(const Json& list, const std::string& key, std::vector<Pattern>& out) const
    {
        if (!list.is_array() || list.size() > kMaxPatterns)
            return bad("has no list at `" + key + "`");
        for (const Json& item : list) {
            if (!item.is_string() || item.get_ref<const std::string&>().size() > kLongestPattern)
                return bad("has something at `" + key + "` that is not a pattern");
            Pattern pattern{item.get<std::string>(), nullptr};
            pattern.expression = expressionOf(pattern.text);
            if (!pattern.expression)
                return bad(
                    "have a regular expression at `" + key + "` that cannot be read: `" + pattern.text + "`");
            out.push_back(std::move(pattern));
        }
        return {};
    }

    Status readWidths(const Json& object)
    {
        if (!object.contains("sub_param_shard_widths"))
            return {};
        const Json& from = object.at("sub_param_shard_widths");
        if (!from.is_object())
            return bad("has no mapping at `sub_param_shard_widths`");
        for (const auto& [pattern, perSubParam] : from.items()) {
            for (const Json& item : perSubParam) {
                const auto counts = countsOf(item);
                if (!counts)
                    return bad("has a value at `sub_param_shard_widths` that is not a list of numbers");
                widths[pattern].push_back(*counts);
            }
        }
        return {};
    }

    Status readUnsupported(const Json& object)
    {
        if (!object.contains("autotp_unsupported_parameter_patterns"))
            return {};
        const Json& from = object.at("autotp_unsupported_parameter_patterns");
        if (!from.is_object())
            return bad("has no mapping at `autotp_unsupported_parameter_patterns`");
        for (const auto& [pattern, reason] : from.items()) {
            std::vector<Pattern> one;
            SHARDSCOPE_CHECK(readList(Json::array({pattern}), "autotp_unsupported_parameter_patterns", one));
            unsupported.emplace_back(std::move(one.front()),
                reason.is_string() ? reason.get<std::string>() : std::string("it does not record why"));
        }
        return {};
    }

    Status readSubParams(const Json& list)
    {
        const auto odd = [&] {
            return bad("have an entry at `parameter_with_sub_params` that does not consist of `patterns`, "
                       "`shape` and `partition_dim`");
        };
        if (!list.is_array() || list.size() > kMaxPatterns)
            return odd();
        for (const Json& item : list) {
            if (!item.is_object() || !item.contains("patterns") || !item.contains("shape")
                || !item.contains("partition_dim") || !item.at("shape").is_array()
                || !item.at("partition_dim").is_number_integer()
                || item.at("partition_dim").get<int64_t>() < 0
                || item.at("partition_dim").get<int64_t>() > 15)
                return odd();
            SubParams entry;
            SHARDSCOPE_CHECK(readList(item.at("patterns"), "patterns", entry.patterns));
            SliceRule& rule = entry.rule;
            rule.merge = SliceRule::Merge::SubParams;
            rule.isNamed = true;
            rule.dimension = item.at("partition_dim").get<uint32_t>();
            for (const Pattern& pattern : entry.patterns)
                rule.patterns.push_back(pattern.text);
            const Json& shape = item.at("shape");
            if (rule.dimension >= shape.size() || shape.size() > 16)
                return odd();
            for (size_t i = 0; i < shape.size(); ++i) {
                int64_t size = 0;
                const auto parts = countsOf(shape[i]);
                if (i == rule.dimension && parts) {
                    rule.subSizes.assign(parts->begin(), parts->end());
                } else if (shape[i].is_number_integer()) {
                    size = shape[i].get<int64_t>();
                    if (i == rule.dimension) {
                        rule.subSizes = {size};
                        rule.isCount = !hasWidths;
                    }
                } else if (parts) { // in other dimensions a tuple means its sum
                    for (const uint64_t part : *parts)
                        size += static_cast<int64_t>(std::min<uint64_t>(part, 1ULL << 40));
                } else {
                    return odd();
                }
                rule.shape.push_back(size);
            }
            subParams.push_back(std::move(entry));
        }
        return {};
    }

    [[nodiscard]] Result<bool> isIn(std::string_view key, std::string_view name) const
    {
        const auto found = lists.find(key);
        size_t count = 0;
        for (size_t i = 0; found != lists.end() && i < found->second.size(); ++i)
            count += matches(*found->second[i].expression, name) ? 1 : 0;
        if (count > 1) // checkpoint/ds_to_universal.py, get_matched_pattern
            return bad("matches `" + toValidUtf8(name) + "` more than once in `" + std::string(key) + "`");
        return count == 1;
    }

    [[nodiscard]] bool isEmpty() const
    {
        return subParams.empty()
            && std::all_of(lists.begin(), lists.end(), [](const auto& list) { return list.second.empty(); });
    }
};

SliceRules::SliceRules(std::shared_ptr<const Patterns> patterns)
    : m_patterns(std::move(patterns))
{
}

Result<SliceRules> SliceRules::fromJson(std::string_view text, const std::string& path)
{
    auto patterns = std::make_shared<Patterns>();
    patterns->isFile = true;
    patterns->path = path;
    const Json object = Json::parse(text, nullptr, false);
    if (!object.is_object())
        return patterns->bad("is not a JSON object");
    SHARDSCOPE_CHECK(patterns->read(object));
    return SliceRules(std::move(patterns));
}

Result<std::optional<SliceRules>> SliceRules::recorded(
    const PickleGraph& graph, NodeId info, const std::string& path)
{
    if (info == kNoNode || !isMapping(graph, info))
        return std::optional<SliceRules>();
    auto patterns = std::make_shared<Patterns>();
    patterns->path = path;
    Json object = Json::object();
    size_t left = kMaxValues;
    const auto items = mappingItems(graph, info);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto key = asString(graph, items[i]);
        if (key && *key != "affine_map") // AutoTP's, in another form
            object[toValidUtf8(*key)] = jsonOf(graph, items[i + 1], 1, left);
    }
    if (left == 0)
        return patterns->bad("holds more than " + std::to_string(kMaxValues) + " values");
    SHARDSCOPE_CHECK(patterns->read(object));
    if (patterns->isEmpty())
        return std::optional<SliceRules>();
    return std::optional(SliceRules(std::move(patterns)));
}

Result<SliceRule> SliceRules::ruleFor(std::string_view name) const
{
    SliceRule out;
    for (const auto& [pattern, reason] : m_patterns->unsupported) {
        if (matches(*pattern.expression, name))
            return fail(ErrorCode::Unsupported,
                "AutoTP recorded that `" + toValidUtf8(name) + "` cannot be merged: " + reason,
                m_patterns->path);
    }
    SHARDSCOPE_TRY(const bool replicated, m_patterns->isIn(kReplicated, name));
    SHARDSCOPE_TRY(const bool averaged, m_patterns->isIn(kAverage, name));
    SHARDSCOPE_TRY(const bool halves, m_patterns->isIn(kTwoHalves, name));
    SHARDSCOPE_TRY(const bool rows, m_patterns->isIn(kRows, name));
    SHARDSCOPE_TRY(const bool vocabulary, m_patterns->isIn(kVocabulary, name));
    const Patterns::SubParams* subParams = nullptr;
    const Patterns::Pattern* matched = nullptr;
    for (const auto& entry : m_patterns->subParams) {
        for (const auto& pattern : entry.patterns) {
            if (subParams == nullptr && matches(*pattern.expression, name)) {
                subParams = &entry;
                matched = &pattern;
            }
        }
    }
    out.isNamed = replicated || averaged || halves || rows || vocabulary || subParams != nullptr;
    // In the order in which the converter checks them (merge_tp_slices).
    if (replicated) {
        out.merge = SliceRule::Merge::Replicated;
    } else if (averaged) {
        out.merge = SliceRule::Merge::Averaged;
    } else if (halves) {
        out.merge = SliceRule::Merge::TwoHalves;
    } else if (subParams != nullptr) {
        out = subParams->rule;
        if (const auto widths = m_patterns->widths.find(matched->text); widths != m_patterns->widths.end())
            out.widths = widths->second;
        else if (m_patterns->hasWidths)
            return m_patterns->bad("records no `sub_param_shard_widths` for `" + toValidUtf8(name) + "`");
    } else if (rows) {
        out.dimension = 1;
    }
    if (vocabulary && !m_patterns->vocabulary)
        return m_patterns->bad(
            "has no `original_vocab_size`, which `" + toValidUtf8(name) + "` is truncated to");
    if (vocabulary)
        out.vocabulary = m_patterns->vocabulary;
    return out;
}

std::string SliceRules::unusedPattern(const std::vector<std::string>& names) const
{
    const auto isUnused = [&](const Patterns::Pattern& pattern) {
        return std::none_of(names.begin(), names.end(),
            [&](const std::string& name) { return matches(*pattern.expression, name); });
    };
    for (const auto& [key, list] : m_patterns->lists) {
        for (const auto& pattern : list) {
            if (key != kPipelineReplicated && isUnused(pattern))
                return pattern.text;
        }
    }
    for (const auto& entry : m_patterns->subParams) {
        for (const auto& pattern : entry.patterns) {
            if (isUnused(pattern))
                return pattern.text;
        }
    }
    return {};
}

} // namespace shardscope
