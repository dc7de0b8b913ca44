// SPDX-License-Identifier: Apache-2.0
#include "ui/models/find/filter_text.h"

#include "core/base/text.h"

#include <algorithm>
#include <limits>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

using Range = std::pair<uint64_t, uint64_t>;

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

bool isExpression(const QString& word)
{
    return word.size() > 2 && word.startsWith(u'/') && word.endsWith(u'/');
}

/// A term in parts: the key, the relation and the value.
struct TermParts {
    QString key;
    QString relation;
    QString value;
};

std::optional<TermParts> termIn(const QString& word)
{
    static const QRegularExpression shape(u"^([a-z_]+)(:|=|<=|>=|<|>)(.*)$"_s);
    static const QRegularExpression slice(u"^(tp|pp|ep)[0-9]+$"_s);
    const QRegularExpressionMatch found = shape.match(word);
    // Names of slices end in ":tp1" and the like.
    if (!found.hasMatch() || (found.captured(2) == ":"_L1 && slice.match(found.captured(3)).hasMatch()))
        return std::nullopt;
    return TermParts{found.captured(1), found.captured(2), found.captured(3).toLower()};
}

const FilterTerm* termNamed(const QString& key, const std::vector<FilterTerm>& terms)
{
    const auto found
        = std::find_if(terms.begin(), terms.end(), [&](const FilterTerm& term) { return term.key == key; });
    return found == terms.end() ? nullptr : &*found;
}

std::optional<Range> rangeOf(const QString& relation, const QString& value)
{
    const qsizetype dots = value.indexOf(".."_L1);
    const auto first = parseBytes((dots < 0 ? value : value.left(dots)).toStdString());
    const auto last = dots < 0 ? first : parseBytes(value.mid(dots + 2).toStdString());
    if (!first || !last || (dots >= 0 && relation != ":"_L1 && relation != "="_L1))
        return std::nullopt;
    if (relation == "<"_L1)
        return *first == 0 ? Range{1, 0} : Range{0, *first - 1};
    if (relation == "<="_L1)
        return Range{0, *first};
    if (relation == ">"_L1)
        return *first == kMost ? Range{1, 0} : Range{*first + 1, kMost};
    if (relation == ">="_L1)
        return Range{*first, kMost};
    return Range{*first, *last};
}

bool isYesOrNo(const QString& value)
{
    static const QStringList kWords{u"yes"_s, u"no"_s, u"true"_s, u"false"_s};
    return kWords.contains(value);
}

QStringList valuesOf(const FilterTerm& term)
{
    QStringList out = term.words;
    if (term.values == FilterTerm::Values::YesNo || term.values == FilterTerm::Values::YesNoNumber)
        out << u"yes"_s << u"no"_s;
    return out;
}

bool isCompared(const FilterTerm& term)
{
    return term.values == FilterTerm::Values::Number || term.values == FilterTerm::Values::YesNoNumber;
}

} // namespace

std::string loweredBytes(const QString& text)
{
    return loweredBytes(text.toStdString());
}

std::string loweredBytes(std::string_view text)
{
    std::string bytes(text);
    for (char& byte : bytes)
        if (byte >= 'A' && byte <= 'Z')
            byte = static_cast<char>(byte - 'A' + 'a');
    return bytes;
}

bool FilterWord::takes(uint64_t count) const
{
    return std::any_of(ranges.begin(), ranges.end(),
        [count](const Range& range) { return count >= range.first && count <= range.second; });
}

bool FilterWord::takes(const QString& lowered) const
{
    return std::any_of(
        values.begin(), values.end(), [&](const QString& value) { return lowered.contains(value); });
}

bool FilterWord::matches(std::string_view lowered) const
{
    if (expression)
        return expression->match(QString::fromUtf8(lowered.data(), static_cast<qsizetype>(lowered.size())))
            .hasMatch();
    return part.find('*') != std::string::npos ? matchesGlob(lowered, part)
                                               : lowered.find(part) != std::string_view::npos;
}

QStringList FilterText::split(const QString& text)
{
    const QString trimmed = text.trimmed();
    if (isExpression(trimmed))
        return {trimmed};
    return trimmed.split(u' ', Qt::SkipEmptyParts);
}

FilterText FilterText::read(const QString& text, const std::vector<FilterTerm>& terms)
{
    FilterText out;
    qsizetype from = 0;
    qsizetype number = 0;
    for (const QString& word : split(text)) {
        const qsizetype at = text.indexOf(word, from);
        from = at + word.size();
        out.add({.text = word, .at = at, .number = number++}, terms);
    }
    return out;
}

QString FilterText::settled(const QString& text, const std::vector<FilterTerm>& terms)
{
    const qsizetype at = text.lastIndexOf(u' ') + 1;
    QString word = text.mid(at);
    if (word.startsWith(u'-'))
        word.remove(0, 1);
    const auto parts = termIn(word);
    const FilterTerm* term = parts ? termNamed(parts->key, terms) : nullptr;
    if (term == nullptr)
        return word.isEmpty() ? text.left(at) : text;
    const QString value = parts->value.section(u',', -1);
    const QStringList known = valuesOf(*term);
    const bool isBeginning = std::any_of(known.begin(), known.end(),
        [&](const QString& each) { return each.startsWith(value) && each.size() > value.size(); });
    const bool isWhole = known.contains(value) || (isCompared(*term) && rangeOf(parts->relation, value));
    const bool isOpen = isCompared(*term) && value.endsWith(u'.');
    return value.isEmpty() || (isBeginning && !isWhole) || isOpen ? text.left(at) : text;
}

void FilterText::setProblem(const FilterWord& word, const QString& expected)
{
    if (!m_problem)
        m_problem
            = FilterProblem{u"“%1”: %2"_s.arg(word.text, expected), word.at, word.text.size(), word.number};
}

void FilterText::add(FilterWord word, const std::vector<FilterTerm>& terms)
{
    QString plain = word.text;
    if (plain.size() > 1 && plain.startsWith(u'-')) {
        word.isNegated = true;
        plain.remove(0, 1);
    }
    if (isExpression(plain)) {
        word.expression.emplace(plain.mid(1, plain.size() - 2), QRegularExpression::CaseInsensitiveOption);
        if (!word.expression->isValid())
            return setProblem(
                word, u"the regular expression is not valid: %1"_s.arg(word.expression->errorString()));
        word.expression->optimize(); // several threads may match with it
        m_words.push_back(std::move(word));
        return;
    }
    const auto parts = termIn(plain);
    if (!parts) {
        word.part = loweredBytes(plain);
        m_words.push_back(std::move(word));
        return;
    }
    if (const FilterTerm* term = termNamed(parts->key, terms))
        return addTerm(std::move(word), parts->relation, parts->value, *term);
    QStringList known;
    for (const FilterTerm& each : terms)
        known.append(each.key);
    setProblem(word,
        known.isEmpty() ? u"there is no term “%1” here"_s.arg(parts->key)
                        : u"there is no term “%1”; there are %2"_s.arg(parts->key, known.join(u", "_s)));
}

void FilterText::addTerm(
    FilterWord word, const QString& relation, const QString& value, const FilterTerm& term)
{
    using enum FilterTerm::Values;
    word.key = term.key;
    const bool isEqual = relation == ":"_L1 || relation == "="_L1;
    if (!isEqual && !isCompared(term))
        return setProblem(word, u"only numbers can be compared; use “%1:”"_s.arg(term.key));
    word.values = value.split(u',', Qt::SkipEmptyParts);
    if (word.values.isEmpty())
        return setProblem(word, u"a value is missing after “%1”"_s.arg(relation));
    for (const QString& each : word.values) {
        if (term.values == Choice && !term.words.contains(each))
            return setProblem(word, u"expected %1"_s.arg(term.words.join(u", "_s)));
        if (isYesOrNo(each) && (term.values == YesNo || (term.values == YesNoNumber && isEqual))) {
            word.yes = each == "yes"_L1 || each == "true"_L1;
            word.ranges.push_back(word.yes ? Range{1, kMost} : Range{0, 0});
        } else if (term.values == YesNo && (each == "1"_L1 || each == "0"_L1)) {
            word.yes = each == "1"_L1;
        } else if (term.values == YesNo) {
            return setProblem(word, u"expected yes or no"_s);
        } else if (isCompared(term)) {
            const auto range = rangeOf(relation, each);
            if (!range)
                return setProblem(word,
                    term.values == YesNoNumber ? u"expected yes, no or a number such as 4 or 1..8"_s
                                               : u"expected a number such as 4, 4..7 or 64K"_s);
            word.ranges.push_back(*range);
        }
    }
    m_words.push_back(std::move(word));
}

std::vector<FilterCompletion> completionsOf(const QString& typed, const std::vector<FilterTerm>& terms)
{
    constexpr qsizetype kEnough = 2; // letters of a term
    const QString minus = typed.startsWith(u'-') ? u"-"_s : QString();
    const QString word = typed.mid(minus.size());
    std::vector<FilterCompletion> out;
    const auto parts = termIn(word);
    if (!parts) {
        for (const FilterTerm& term : terms)
            if (word.size() >= kEnough && term.key.startsWith(word, Qt::CaseInsensitive))
                out.push_back({minus % term.key % u':', term.help});
        return out;
    }
    const FilterTerm* term = termNamed(parts->key, terms);
    if (term == nullptr || (parts->relation != ":"_L1 && parts->relation != "="_L1))
        return out;
    const QString last = parts->value.section(u',', -1);
    const QString before = typed.left(typed.size() - last.size());
    for (const QString& value : valuesOf(*term))
        if (value.startsWith(last) && value != last)
            out.push_back({before % value, out.empty() ? term->help : QString()}); // it is of all of them
    return out;
}

} // namespace shardscope::ui
