// SPDX-License-Identifier: Apache-2.0
#include "ui/models/parameters/parameter_filter.h"

#include "core/base/text.h"
#include "ui/text/rank_list.h"

#include <QRegularExpression>

#include <algorithm>
#include <functional>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

std::string loweredBytes(const QString& word)
{
    std::string bytes = word.toStdString();
    for (char& byte : bytes)
        if (byte >= 'A' && byte <= 'Z')
            byte = static_cast<char>(byte - 'A' + 'a');
    return bytes;
}

/// Substring search over the block of all names at once: the searcher skips through megabytes.
void keepSubstring(const ParameterIndex& index, const std::string& part, std::vector<uint8_t>& keep)
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
        keep[i] &= found[i];
}

bool matchesGlob(std::string_view name, std::string_view pattern)
{
    size_t at = 0;
    size_t in = 0;
    size_t starName = 0;
    size_t starPattern = std::string_view::npos;
    while (at < name.size()) {
        if (in < pattern.size() && pattern[in] == '*') {
            starPattern = in++;
            starName = at;
        } else if (in < pattern.size() && pattern[in] == name[at]) {
            ++in;
            ++at;
        } else if (starPattern != std::string_view::npos) {
            in = starPattern + 1;
            at = ++starName;
        } else {
            return false;
        }
    }
    while (in < pattern.size() && pattern[in] == '*')
        ++in;
    return in == pattern.size();
}

template <class Predicate>
auto eachRow(Predicate predicate)
{
    return
        [predicate](const ParameterIndex& index, std::vector<uint8_t>& keep, const std::stop_token& token) {
            for (size_t i = 0; i < keep.size(); ++i) {
                if (i % 4096 == 0 && token.stop_requested())
                    return;
                if (keep[i] != 0 && !predicate(index, i))
                    keep[i] = 0;
            }
        };
}

bool hasLayer(std::string_view name, uint64_t first, uint64_t last)
{
    for (size_t begin = 0; begin <= name.size();) {
        const size_t end = std::min(name.find('.', begin), name.size());
        const std::string_view part = name.substr(begin, end - begin);
        if (!part.empty() && part.size() < 10
            && part.find_first_not_of("0123456789") == std::string_view::npos) {
            const uint64_t number = std::stoull(std::string(part));
            if (number >= first && number <= last)
                return true;
        }
        begin = end + 1;
    }
    return false;
}

/// The keys of all terms, each with what it can be completed to.
const std::vector<std::pair<QString, QStringList>>& knownTerms()
{
    static const QStringList yesOrNo{u":yes"_s, u":no"_s};
    static const QStringList value{u":"_s};
    static const QStringList size{u">"_s, u"<"_s};
    static const std::vector<std::pair<QString, QStringList>> terms{
        {u"dtype"_s, {u":"_s, u":bf16"_s, u":fp16"_s, u":fp32"_s}}, {u"size"_s, size}, {u"elements"_s, size},
        {u"frozen"_s, yesOrNo}, {u"buffer"_s, yesOrNo}, {u"shared"_s, yesOrNo}, {u"group"_s, value},
        {u"layer"_s, value}, {u"state"_s, value}, {u"rank"_s, value},
        {u"padding"_s, {u":yes"_s, u":no"_s, u">"_s}}};
    return terms;
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

bool compares(uint64_t value, const QString& relation, uint64_t limit)
{
    if (relation == "<"_L1)
        return value < limit;
    if (relation == "<="_L1)
        return value <= limit;
    if (relation == ">"_L1)
        return value > limit;
    if (relation == ">="_L1)
        return value >= limit;
    return value == limit;
}

} // namespace

ParameterFilter ParameterFilter::parse(const QString& text)
{
    ParameterFilter filter;
    for (const QString& word : words(text))
        filter.addWord(word);
    return filter;
}

QStringList ParameterFilter::terms()
{
    QStringList out;
    for (const auto& [key, endings] : knownTerms()) {
        for (const QString& ending : endings)
            out.append(key % ending);
    }
    return out;
}

QStringList ParameterFilter::words(const QString& text)
{
    const QString trimmed = text.trimmed();
    if (trimmed.size() > 2 && trimmed.startsWith(u'/') && trimmed.endsWith(u'/'))
        return {trimmed}; // an expression may contain spaces
    return trimmed.split(u' ', Qt::SkipEmptyParts);
}

void ParameterFilter::addWord(const QString& word)
{
    if (word.size() > 2 && word.startsWith(u'/') && word.endsWith(u'/')) {
        const QRegularExpression expression(
            word.mid(1, word.size() - 2), QRegularExpression::CaseInsensitiveOption);
        if (!expression.isValid()) {
            m_error = u"The regular expression is not valid: %1"_s.arg(expression.errorString());
            return;
        }
        m_tests.emplace_back(eachRow([expression](const ParameterIndex& index, size_t row) {
            const std::string_view name = index.lowerName(row);
            return expression.match(QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())))
                .hasMatch();
        }));
        return;
    }
    if (addTerm(word))
        return;
    const std::string part = loweredBytes(word);
    if (word.contains(u'*')) {
        m_tests.emplace_back(eachRow([part](const ParameterIndex& index, size_t row) {
            return matchesGlob(index.lowerName(row), part);
        }));
        return;
    }
    m_tests.emplace_back([part](const ParameterIndex& index, std::vector<uint8_t>& keep,
                             const std::stop_token&) { keepSubstring(index, part, keep); });
}

bool ParameterFilter::addTerm(const QString& word)
{
    static const QRegularExpression shape(u"^([a-z_]+)(:|=|<=|>=|<|>)(.*)$"_s);
    static const QRegularExpression slice(u"^(tp|pp|ep)[0-9]+$"_s);
    const QRegularExpressionMatch found = shape.match(word);
    // Names of slices end in ":tp1" and the like.
    if (!found.hasMatch() || (found.captured(2) == ":"_L1 && slice.match(found.captured(3)).hasMatch()))
        return false;
    const Term term{found.captured(1), found.captured(2), found.captured(3).toLower()};
    QStringList known;
    for (const auto& entry : knownTerms())
        known.append(entry.first);
    if (!known.contains(term.key)) {
        m_error = u"“%1”: there is no term “%2”; there are %3"_s.arg(word, term.key, known.join(u", "_s));
        return true;
    }
    const QString expected = addTermTest(term);
    if (!expected.isEmpty())
        m_error = u"“%1”: %2"_s.arg(word, expected);
    return true;
}

QString ParameterFilter::addTermTest(const Term& term)
{
    if (term.key == "size"_L1 || term.key == "elements"_L1)
        return addSizeTest(term);
    if (term.key == "padding"_L1)
        return addPaddingTest(term);
    if (term.relation != ":"_L1 && term.relation != "="_L1)
        return u"only size, elements and padding can be compared"_s;
    if (term.key == "dtype"_L1) {
        const auto dtype = dtypeOf(term.value);
        if (!dtype)
            return u"no such dtype; try bf16, fp16, fp32, int64"_s;
        m_tests.emplace_back(eachRow([dtype = *dtype](const ParameterIndex& index, size_t row) {
            return index.facts(ParamId{static_cast<uint32_t>(row)}).dtype == dtype;
        }));
        return {};
    }
    if (term.key == "state"_L1) {
        m_tests.emplace_back(
            eachRow([part = term.value.toStdString()](const ParameterIndex& index, size_t row) {
                return index.stateSets()[index.facts(ParamId{static_cast<uint32_t>(row)}).states].find(part)
                    != std::string::npos;
            }));
        return {};
    }
    if (term.key == "group"_L1 || term.key == "layer"_L1 || term.key == "rank"_L1)
        return addRangeTest(term);
    return addYesNoTest(term);
}

QString ParameterFilter::addSizeTest(const Term& term)
{
    const auto limit = parseBytes(term.value.toStdString());
    if (!limit)
        return u"expected a number such as 512, 64K or 1.5G"_s;
    const bool bytes = term.key == "size"_L1;
    m_tests.emplace_back(
        eachRow([bytes, relation = term.relation, limit = *limit](const ParameterIndex& index, size_t row) {
            const uint64_t actual = bytes ? index.facts(ParamId{static_cast<uint32_t>(row)}).bytes
                                          : index.checkpoint()->params[row].elements;
            return compares(actual, relation, limit);
        }));
    return {};
}

QString ParameterFilter::addRangeTest(const Term& term)
{
    const QString& value = term.value;
    const qsizetype dots = value.indexOf(".."_L1);
    bool firstIs = false;
    bool lastIs = false;
    const uint first = (dots < 0 ? value : value.left(dots)).toUInt(&firstIs);
    const uint last = dots < 0 ? value.toUInt(&lastIs) : value.mid(dots + 2).toUInt(&lastIs);
    if (!firstIs || !lastIs)
        return u"expected a number or a range such as 4..7"_s;
    if (term.key == "rank"_L1) {
        addRankTest(first, last);
        return {};
    }
    const bool group = term.key == "group"_L1;
    m_tests.emplace_back(eachRow([=](const ParameterIndex& index, size_t row) {
        if (!group)
            return hasLayer(index.lowerName(row), first, last);
        const int64_t own = index.checkpoint()->params[row].group;
        return own >= int64_t{first} && own <= int64_t{last};
    }));
    return {};
}

void ParameterFilter::addRankTest(uint32_t first, uint32_t last)
{
    m_tests.emplace_back(eachRow([=](const ParameterIndex& index, size_t row) {
        const Checkpoint& checkpoint = *index.checkpoint();
        const ParamId id{static_cast<uint32_t>(row)};
        const ParamFacts& facts = index.facts(id);
        const FlatUnit* unit = checkpoint.unitOf(id);
        if (unit == nullptr || facts.ranks() == 0)
            return false;
        const uint32_t lowest = rankOfRow(checkpoint, *unit, facts.firstShare);
        const uint32_t highest = rankOfRow(checkpoint, *unit, facts.lastShare);
        if (highest < first || lowest > last)
            return false;
        // Experts have a share on every so many ranks only.
        for (uint32_t rank = std::max(first, lowest); rank <= std::min(last, highest); ++rank) {
            if (rowOfRank(checkpoint, *unit, rank))
                return true;
        }
        return false;
    }));
}

QString ParameterFilter::addPaddingTest(const Term& term)
{
    const bool isEqual = term.relation == ":"_L1 || term.relation == "="_L1;
    const bool yes = term.value == "yes"_L1;
    const bool isWord = isEqual && (yes || term.value == "no"_L1);
    const auto limit = isWord ? std::optional<uint64_t>(0) : parseBytes(term.value.toStdString());
    if (!limit)
        return u"expected yes, no or a number of elements"_s;
    const QString relation = !isWord ? term.relation : yes ? u">"_s : u"="_s;
    m_tests.emplace_back(eachRow([relation, limit = *limit](const ParameterIndex& index, size_t row) {
        return compares(index.facts(ParamId{static_cast<uint32_t>(row)}).padding, relation, limit);
    }));
    return {};
}

QString ParameterFilter::addYesNoTest(const Term& term)
{
    const QString& value = term.value;
    const bool yes = value == "yes"_L1 || value == "true"_L1 || value == "1"_L1;
    if (!yes && value != "no"_L1 && value != "false"_L1 && value != "0"_L1)
        return u"expected yes or no"_s;
    const bool shared = term.key == "shared"_L1;
    const ParamRole role = term.key == "frozen"_L1 ? ParamRole::Frozen : ParamRole::Buffer;
    m_tests.emplace_back(eachRow([=](const ParameterIndex& index, size_t row) {
        const Parameter& param = index.checkpoint()->params[row];
        return (shared ? param.sharedWith != kNoParam : param.role == role) == yes;
    }));
    return {};
}

std::vector<uint8_t> ParameterFilter::matches(const ParameterIndex& index, const std::stop_token& token) const
{
    std::vector<uint8_t> keep(index.size(), m_error.isEmpty() ? 1 : 0);
    for (const Test& test : m_tests) {
        if (token.stop_requested())
            break;
        test(index, keep, token);
    }
    return keep;
}

ParameterRows queryRows(const ParameterIndex& index, const ParameterFilter& filter, ParamColumn column,
    bool descending, const std::stop_token& token)
{
    ParameterRows result;
    result.error = filter.error();
    const std::vector<uint8_t> keep = filter.matches(index, token);
    const std::vector<uint32_t>& order = index.order(column);
    result.rows.reserve(order.size());
    const std::vector<Parameter>& params = index.checkpoint()->params;
    const auto take = [&](uint32_t row) {
        if (keep[row] == 0)
            return;
        result.rows.push_back(ParamId{row});
        result.bytes += index.facts(ParamId{row}).bytes;
        result.counts.add(params[row]);
    };
    if (descending)
        std::for_each(order.rbegin(), order.rend(), take);
    else
        std::for_each(order.begin(), order.end(), take);
    if (!filter.isEmpty() && filter.error().isEmpty()) {
        auto matches = std::make_shared<std::vector<uint8_t>>(keep);
        for (const ParamId row : result.rows)
            if (const ParamId owner = params[shardscope::index(row)].sharedWith; owner != kNoParam)
                (*matches)[shardscope::index(owner)] = 1;
        result.matches = std::move(matches);
    }
    return result;
}

} // namespace shardscope::ui
