// SPDX-License-Identifier: Apache-2.0
#include "ui/models/parameters/parameter_filter.h"

#include "core/checkpoint/model/layer_names.h"
#include "core/layout/counts.h"
#include "ui/text/rank_list.h"

#include <algorithm>
#include <functional>
#include <set>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// Substring search over the block of all names at once: the searcher skips through megabytes.
void keepSubstring(
    const ParameterIndex& index, const std::string& part, bool isNegated, std::vector<uint8_t>& keep)
{
    const std::string_view names = index.names();
    const std::vector<size_t>& starts = index.nameStarts();
    std::vector<uint8_t> found(keep.size(), 0);
    const std::boyer_moore_horspool_searcher searcher(part.begin(), part.end());
    size_t row = 0;
    for (auto at = names.begin(); at != names.end();) {
        at = std::search(at, names.end(), searcher);
        if (at == names.end())
            break;
        const auto offset = static_cast<size_t>(at - names.begin());
        while (starts[row + 1] <= offset)
            ++row;
        found[row] = 1;
        at = names.begin() + static_cast<ptrdiff_t>(starts[row + 1]);
    }
    for (size_t i = 0; i < keep.size(); ++i)
        keep[i] &= static_cast<uint8_t>(found[i] ^ (isNegated ? 1 : 0));
}

/// Keeps the rows for which it is true, or false if the word is negated.
template <class Predicate>
auto eachRow(bool isNegated, Predicate predicate)
{
    return [predicate, isNegated](
               const ParameterIndex& index, std::vector<uint8_t>& keep, const std::stop_token& token) {
        for (size_t i = 0; i < keep.size(); ++i) {
            if (i % 4096 == 0 && token.stop_requested())
                return;
            if (keep[i] != 0 && predicate(index, i) == isNegated)
                keep[i] = 0;
        }
    };
}

/// A parameter without a known role is in neither answer.
bool isAskedRole(const ParameterIndex& index, ParamId id, bool frozen)
{
    const Parameter& param = index.checkpoint()->params[shardscope::index(id)];
    return frozen ? isFrozen(*index.checkpoint(), param) : param.role != ParamRole::Frozen;
}

bool hasLayer(std::string_view name, const FilterWord& word)
{
    const auto numbered = numberedName(name);
    return numbered && word.takes(uint64_t{numbered->number});
}

std::optional<DType> dtypeOf(const QString& text)
{
    static const std::pair<QLatin1StringView, DType> kShort[] = {{"bf16"_L1, DType::BFloat16},
        {"fp16"_L1, DType::Float16}, {"fp32"_L1, DType::Float32}, {"fp64"_L1, DType::Float64},
        {"f16"_L1, DType::Float16}, {"f32"_L1, DType::Float32}, {"half"_L1, DType::Float16}};
    for (const auto& [name, dtype] : kShort)
        if (text == name)
            return dtype;
    return dtypeFromName(text.toStdString());
}

/// Whether one of the ranks has elements of a parameter.
bool isOnRank(const ParameterIndex& index, ParamId id, const FilterWord& word)
{
    const Checkpoint& checkpoint = *index.checkpoint();
    const ParamFacts& facts = index.facts(id);
    const FlatUnit* unit = index.unitOf(id);
    if (unit == nullptr || facts.ranks() == 0)
        return false;
    const uint32_t lowest = rankOfRow(checkpoint, *unit, facts.firstShare);
    const uint32_t highest = rankOfRow(checkpoint, *unit, facts.lastShare);
    for (const auto& [first, last] : word.ranges) {
        // Experts have a share on every so many ranks only.
        for (uint64_t rank = std::max<uint64_t>(first, lowest); rank <= std::min<uint64_t>(last, highest);
             ++rank)
            if (rowOfRank(checkpoint, *unit, static_cast<uint32_t>(rank)))
                return true;
    }
    return false;
}

QString shapeWord(const Shape& shape)
{
    QStringList out;
    for (const auto size : shape)
        out.append(QString::number(size));
    return out.join(u'x');
}

/// What the checkpoint has, to be offered as values.
struct Known {
    QStringList dtypes{u"bf16"_s, u"fp16"_s, u"fp32"_s};
    QStringList states;

    explicit Known(const ParameterIndex* index)
    {
        if (index == nullptr)
            return;
        std::set<QString> each;
        for (const std::string& set : index->stateSets())
            for (const QString& state : QString::fromStdString(set).split(u", "_s, Qt::SkipEmptyParts))
                each.insert(state.toLower());
        states = QStringList(each.begin(), each.end());
    }
};

} // namespace

std::vector<FilterTerm> ParameterFilter::terms(const ParameterIndex* index)
{
    using enum FilterTerm::Values;
    const Known known(index);
    return {{u"layer"_s, Number, {}, u"numbers in the name: layer:4..7"_s},
        {u"rank"_s, Number, {}, u"has elements on this rank: rank:3"_s},
        {u"has"_s, Choice, {u"nan"_s, u"inf"_s, u"zero"_s, u"zeros"_s, u"missing"_s, u"finding"_s},
            u"values or problems: nan, inf, a zero, only zeros, missing elements, a finding"_s},
        {u"state"_s, Text, known.states, u"has this state: state:exp_avg"_s},
        {u"dtype"_s, Text, known.dtypes, u"stored type: dtype:bf16"_s},
        {u"shape"_s, Text, {}, u"part of the shape: shape:4096x"_s},
        {u"size"_s, Number, {}, u"stored bytes: size>1M"_s},
        {u"elements"_s, Number, {}, u"number of elements: elements<=4096"_s},
        {u"padding"_s, YesNoNumber, {}, u"elements of padding next to it: padding:yes, padding>4"_s},
        {u"group"_s, Number, {}, u"param group: group:1"_s}, {u"frozen"_s, YesNo, {}, u"not trained"_s},
        {u"buffer"_s, YesNo, {}, u"a buffer of the module"_s},
        {u"shared"_s, YesNo, {}, u"stored as another parameter"_s}};
}

ParameterFilter ParameterFilter::parse(const QString& text)
{
    static const std::vector<FilterTerm> kTerms = terms();
    ParameterFilter filter;
    filter.m_text = FilterText::read(text, kTerms);
    const std::vector<FilterWord> words = filter.m_text.words();
    for (const FilterWord& word : words) {
        if (word.key == "state"_L1 && !word.isNegated)
            filter.m_states += word.values;
    }
    for (const FilterWord& word : words)
        filter.addWord(word);
    return filter;
}

void ParameterFilter::addWord(const FilterWord& word)
{
    if (!word.key.isEmpty())
        return addTerm(word);
    if (word.expression || word.part.find('*') != std::string::npos) {
        m_tests.emplace_back(eachRow(word.isNegated,
            [word](const ParameterIndex& index, size_t row) { return word.matches(index.lowerName(row)); }));
        return;
    }
    m_tests.emplace_back(
        [word](const ParameterIndex& index, std::vector<uint8_t>& keep, const std::stop_token&) {
            keepSubstring(index, word.part, word.isNegated, keep);
        });
}

void ParameterFilter::addTerm(const FilterWord& word)
{
    const auto add = [&](auto predicate) { // of the parameter and its facts
        m_tests.emplace_back(
            eachRow(word.isNegated, [word, predicate](const ParameterIndex& index, size_t row) {
                return predicate(
                    word, index.checkpoint()->params[row], index.facts(ParamId{static_cast<uint32_t>(row)}));
            }));
    };
    using Word = const FilterWord&;
    using Param = const Parameter&;
    using Facts = const ParamFacts&;
    const QString& key = word.key;
    if (key == "has"_L1)
        return addHas(word);
    if (key == "size"_L1)
        return add([](Word of, Param, Facts facts) { return of.takes(facts.bytes); });
    if (key == "elements"_L1)
        return add([](Word of, Param param, Facts) { return of.takes(param.elements); });
    if (key == "padding"_L1)
        return add([](Word of, Param, Facts facts) { return of.takes(facts.padding); });
    if (key == "group"_L1)
        return add([](Word of, Param param, Facts) {
            return param.group >= 0 && of.takes(static_cast<uint64_t>(param.group));
        });
    if (key == "shape"_L1)
        return add([](Word of, Param param, Facts) { return of.takes(shapeWord(param.shape)); });
    if (key == "buffer"_L1)
        return add([](Word of, Param param, Facts) { return (param.role == ParamRole::Buffer) == of.yes; });
    if (key == "shared"_L1)
        return add([](Word of, Param param, Facts) { return (param.sharedWith != kNoParam) == of.yes; });
    if (key == "dtype"_L1) {
        std::vector<DType> dtypes;
        for (const QString& value : word.values) {
            const auto dtype = dtypeOf(value);
            if (!dtype)
                return m_text.setProblem(word, u"no such dtype; try bf16, fp16, fp32, int64"_s);
            dtypes.push_back(*dtype);
        }
        return add([dtypes](Word, Param, Facts facts) {
            return std::find(dtypes.begin(), dtypes.end(), facts.dtype) != dtypes.end();
        });
    }
    m_tests.emplace_back(eachRow(word.isNegated, [word](const ParameterIndex& index, size_t row) {
        const ParamId id{static_cast<uint32_t>(row)};
        if (word.key == "layer"_L1)
            return hasLayer(index.lowerName(row), word);
        if (word.key == "rank"_L1)
            return isOnRank(index, id, word);
        if (word.key == "frozen"_L1)
            return isAskedRole(index, id, word.yes);
        return word.takes(QString::fromStdString(index.stateSets()[index.facts(id).states]).toLower());
    }));
}

void ParameterFilter::addHas(const FilterWord& word)
{
    static const QStringList kOfPlaces{u"missing"_s, u"finding"_s};
    const bool ofValues = std::any_of(word.values.begin(), word.values.end(),
        [](const QString& value) { return !kOfPlaces.contains(value); });
    m_needsValues = m_needsValues || ofValues;
    m_has.push_back(word);
}

std::vector<uint8_t> ParameterFilter::matches(const ParameterIndex& index, const std::stop_token& token) const
{
    std::vector<uint8_t> keep(index.size(), problem() ? 0 : 1);
    for (const Test& test : m_tests) {
        if (token.stop_requested())
            break;
        test(index, keep, token);
    }
    for (const FilterWord& word : m_has) {
        const std::vector<uint8_t> having = m_knowledge.having(index, word.values, m_states, token);
        const bool isKnown = m_knowledge.knows(word.values);
        for (size_t i = 0; i < keep.size() && i < having.size(); ++i)
            if ((having[i] != 0) == word.isNegated || (word.isNegated && !isKnown))
                keep[i] = 0;
    }
    return keep;
}

ParameterRows queryRows(const ParameterIndex& index, const ParameterFilter& filter, ParamColumn column,
    bool descending, const std::stop_token& token)
{
    ParameterRows result;
    result.problem = filter.problem();
    const std::vector<uint8_t> keep = filter.matches(index, token);
    const std::vector<uint32_t>& order = index.order(column);
    result.rows.reserve(order.size());
    const std::vector<Parameter>& params = index.checkpoint()->params;
    const auto take = [&](uint32_t row) {
        if (keep[row] == 0)
            return;
        result.rows.push_back(ParamId{row});
        result.bytes += index.facts(ParamId{row}).bytes;
        result.counts.add(*index.checkpoint(), params[row]);
    };
    if (descending)
        std::for_each(order.rbegin(), order.rend(), take);
    else
        std::for_each(order.begin(), order.end(), take);
    if (!filter.isEmpty() && !filter.problem()) {
        auto matches = std::make_shared<std::vector<uint8_t>>(keep);
        for (const ParamId row : result.rows)
            if (const ParamId owner = params[shardscope::index(row)].sharedWith; owner != kNoParam)
                (*matches)[shardscope::index(owner)] = 1;
        result.matches = std::move(matches);
    }
    return result;
}

} // namespace shardscope::ui
