// SPDX-License-Identifier: Apache-2.0
#include "ui/models/difference_list.h"

#include "core/base/text.h"
#include "ui/text/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr qsizetype kShortNumber = 8; ///< characters

/// Scalars that affect the next step; loss scaler, scheduler and counters come after values.
bool isOption(const ScalarDifference& scalar)
{
    return scalar.left.kind == ScalarKind::Step || scalar.left.kind == ScalarKind::Option;
}

QString ownerText(const StateScalar& scalar)
{
    switch (scalar.kind) {
    case ScalarKind::Step:
    case ScalarKind::Option:
        return u"group %1"_s.arg(scalar.group);
    case ScalarKind::Scaler:
        return u"loss scaler"_s;
    case ScalarKind::Scheduler:
        return u"scheduler"_s;
    case ScalarKind::Counter:
        return u"engine"_s;
    case ScalarKind::ClientState:
        break;
    }
    return u"client state"_s;
}

/// The stored text; a number with many digits is shortened.
QString valueText(const std::string& value, bool exact)
{
    if (value.empty())
        return u"absent"_s;
    const QString text = toText(value);
    bool isNumber = false;
    const double number = text.toDouble(&isNumber);
    return exact || !isNumber || text.size() <= kShortNumber ? text : QString::number(number, 'g', 5);
}

bool keeps(const FilterText& filter, const DifferenceList& list, uint32_t row)
{
    const auto lowered = [&](DifferenceColumn column) { return list.text(row, column).toLower(); };
    const std::array<QString, 3> texts{
        lowered(DifferenceColumn::Name), lowered(DifferenceColumn::Kind), lowered(DifferenceColumn::State)};
    return filter.keeps(
        [&](const FilterWord& word) {
            return std::any_of(texts.begin(), texts.end(),
                [&](const QString& text) { return word.matches(text.toStdString()); });
        },
        [&](const FilterWord& word) { return word.takes(texts[word.key == "kind"_L1 ? 1 : 2]); });
}

} // namespace

DifferenceList::DifferenceList(std::shared_ptr<const JudgedDiff> judged)
    : m_judged(std::move(judged))
{
    for (uint32_t i = 0; i < m_judged->diff.params.size(); ++i)
        addParam(i);
    const auto& params = m_judged->diff.params;
    const auto longest = std::ranges::max_element(
        params, {}, [](const ParamDifference& each) { return each.param.name.size(); });
    m_longest = static_cast<uint32_t>(longest - params.begin());
    addScalars(true);
    addScalars(false);
    m_rows.push_back({DifferenceKind::Options, 0, 0, false});
    m_incomplete
        = static_cast<size_t>(std::ranges::count(m_rows, DifferenceKind::Partial, &DifferenceRow::kind));
    for (const ScalarDifference& scalar : m_judged->diff.scalarDifferences) {
        m_options += scalar.left.kind == ScalarKind::Option ? 1 : 0;
        m_steps += scalar.left.kind == ScalarKind::Step ? 1 : 0;
    }
    constexpr size_t kSeen = 1000;
    for (uint32_t i = 0; i < std::min(size(), kSeen); ++i) {
        if (param(i) == nullptr) // options are as long as their lists
            continue;
        if (const QString count = countText(i, false); count.size() > m_longestCount.size())
            m_longestCount = count;
    }
}

QString DifferenceList::counted(const std::vector<uint32_t>& rows) const
{
    const auto isIncomplete = [&](uint32_t row) { return partial(row) != nullptr; };
    const auto incomplete = static_cast<size_t>(std::ranges::count_if(rows, isIncomplete));
    const size_t differences = size() - m_incomplete;
    const bool isAll = rows.size() == size();
    const auto of = [&](size_t shown, size_t all) {
        return isAll ? ui::countText(all) : u"%1 of %2"_s.arg(ui::countText(shown), ui::countText(all));
    };
    QStringList out;
    if (differences == 0)
        out.append(u"No differences"_s);
    else
        out.append((differences == 1 ? u"%1 difference"_s : u"%1 differences"_s)
                       .arg(of(rows.size() - incomplete, differences)));
    if (m_incomplete > 0)
        out.append((m_incomplete == 1 ? u"%1 tensor incomplete"_s : u"%1 tensors incomplete"_s)
                       .arg(of(incomplete, m_incomplete)));
    return out.join(u", "_s);
}

QString DifferenceList::longestName() const
{
    const auto& params = m_judged->diff.params;
    const QString name = m_longest < params.size() ? toText(params[m_longest].param.name) : QString();
    const QString options = u"▸ "_s % optionsText();
    return options.size() > name.size() ? options : name;
}

bool DifferenceList::isOption(uint32_t i) const
{
    return scalar(i) != nullptr && ui::isOption(*scalar(i));
}

QString DifferenceList::optionsText() const
{
    QStringList parts;
    const auto add = [&](uint32_t count, const QString& one, const QString& many) {
        if (count > 0)
            parts.append(ui::countText(count) % u' ' % (count == 1 ? one : many));
    };
    add(m_options, u"option"_s, u"options"_s);
    add(m_steps, u"step"_s, u"steps"_s);
    return parts.join(u" and "_s) % (m_options + m_steps == 1 ? u" differs"_s : u" differ"_s);
}

void DifferenceList::addScalars(bool options)
{
    const auto& scalars = m_judged->diff.scalarDifferences;
    for (uint32_t i = 0; i < scalars.size(); ++i) {
        if (ui::isOption(scalars[i]) == options)
            m_rows.push_back({DifferenceKind::Scalar, i, 0, false});
    }
}

void DifferenceList::addParam(uint32_t at)
{
    const ParamDifference& difference = m_judged->diff.params[at];
    const PairedParam& param = difference.param;
    if (!param.isPaired()) {
        const bool right = param.left == kNoParam;
        m_rows.push_back({right ? DifferenceKind::OnlyRight : DifferenceKind::OnlyLeft, at, 0, true});
        return;
    }
    if (!param.sameShape) {
        m_rows.push_back({DifferenceKind::Shape, at, 0, true});
        return;
    }
    for (uint32_t i = 0; i < param.onlyLeft.size(); ++i)
        m_rows.push_back({DifferenceKind::OnlyLeft, at, i, false});
    for (uint32_t i = 0; i < param.onlyRight.size(); ++i)
        m_rows.push_back({DifferenceKind::OnlyRight, at, i, false});
    for (uint32_t i = 0; i < difference.partial.size(); ++i)
        m_rows.push_back({DifferenceKind::Partial, at, i, false});
    for (uint32_t i = 0; i < difference.states.size(); ++i) {
        const StateDifference& state = difference.states[i];
        const bool lastBit = state.values.different == state.values.lastBit;
        m_rows.push_back({state.state.isCopy ? DifferenceKind::Copy
                : lastBit                    ? DifferenceKind::LastBit
                                             : DifferenceKind::Values,
            at, i, false});
    }
}

const ParamDifference* DifferenceList::param(uint32_t i) const
{
    const DifferenceRow& row = m_rows[i];
    const bool isParam = row.kind != DifferenceKind::Scalar && row.kind != DifferenceKind::Options;
    return isParam ? &m_judged->diff.params[row.at] : nullptr;
}

const StateDifference* DifferenceList::values(uint32_t i) const
{
    const DifferenceRow& row = m_rows[i];
    const bool isState = row.kind == DifferenceKind::Values || row.kind == DifferenceKind::LastBit
        || row.kind == DifferenceKind::Copy;
    return isState ? &m_judged->diff.params[row.at].states[row.state] : nullptr;
}

const PartialState* DifferenceList::partial(uint32_t i) const
{
    const DifferenceRow& row = m_rows[i];
    return row.kind == DifferenceKind::Partial ? &m_judged->diff.params[row.at].partial[row.state] : nullptr;
}

const ScalarDifference* DifferenceList::scalar(uint32_t i) const
{
    const DifferenceRow& row = m_rows[i];
    return row.kind == DifferenceKind::Scalar ? &m_judged->diff.scalarDifferences[row.at] : nullptr;
}

std::string_view DifferenceList::state(uint32_t i) const
{
    const DifferenceRow& row = m_rows[i];
    if (const StateDifference* found = values(i))
        return found->state.left;
    if (const PartialState* found = partial(i))
        return found->state.left;
    if (row.isWhole || param(i) == nullptr)
        return {};
    const PairedParam& pair = m_judged->diff.params[row.at].param;
    return row.kind == DifferenceKind::OnlyLeft ? pair.onlyLeft[row.state] : pair.onlyRight[row.state];
}

std::optional<double> DifferenceList::number(uint32_t i, DifferenceColumn column) const
{
    const StateDifference* found = values(i);
    if (found == nullptr)
        return {};
    // Sums and extremes are of finite elements only and do not describe the others.
    constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
    const bool finite = found->values.notFinite == 0;
    switch (column) {
    case DifferenceColumn::Different:
        return static_cast<double>(found->values.different);
    case DifferenceColumn::MaxAbs:
        return finite ? found->values.maxAbsolute : kNotANumber;
    case DifferenceColumn::RelativeL2:
        return finite ? found->values.relativeL2() : kNotANumber;
    case DifferenceColumn::Cosine:
        return finite ? found->values.cosine() : kNotANumber;
    case DifferenceColumn::NextStep:
        return nextStep(i);
    case DifferenceColumn::Kind:
    case DifferenceColumn::Name:
    case DifferenceColumn::State:
        break;
    }
    return {};
}

std::optional<double> DifferenceList::nextStep(uint32_t i) const
{
    const ParamDifference& difference = *param(i);
    if (!difference.update)
        return {};
    const bool finite = std::all_of(difference.states.begin(), difference.states.end(),
        [](const StateDifference& state) { return state.state.isCopy || state.values.notFinite == 0; });
    return finite ? std::max(difference.update->withoutGradient, difference.update->withUnitGradient)
                  : std::numeric_limits<double>::quiet_NaN();
}

QString DifferenceList::kindText(uint32_t i) const
{
    switch (m_rows[i].kind) {
    case DifferenceKind::OnlyLeft:
        return u"only left"_s;
    case DifferenceKind::OnlyRight:
        return u"only right"_s;
    case DifferenceKind::Partial:
        return partial(i)->side == DiffSide::Left ? u"left incomplete"_s : u"right incomplete"_s;
    case DifferenceKind::Shape:
        return u"shape"_s;
    case DifferenceKind::Values:
        return u"values"_s;
    case DifferenceKind::LastBit:
        return u"last bit"_s;
    case DifferenceKind::Copy:
        return u"copy"_s;
    case DifferenceKind::Options:
        return m_options > 0 ? u"options"_s : u"steps"_s;
    case DifferenceKind::Scalar:
        break;
    }
    const ScalarKind kind = scalar(i)->left.kind;
    return kind == ScalarKind::Option ? u"option"_s : kind == ScalarKind::Step ? u"step"_s : u"scalar"_s;
}

QString DifferenceList::countText(uint32_t i, bool exact) const
{
    if (const ScalarDifference* found = scalar(i))
        return valueText(found->left.value, exact) % u" → "_s % valueText(found->right.value, exact);
    if (const StateDifference* found = values(i)) {
        QString count = u"%1 of %2"_s.arg(
            ui::countText(found->values.different), ui::countText(found->values.elements));
        if (found->values.notFinite > 0)
            count += u", "_s % notFiniteText(found->values);
        if (found->state.leftType == found->state.rightType)
            return count;
        return count % u", "_s % toText(dtypeName(found->state.leftType)) % u" → "_s
            % toText(dtypeName(found->state.rightType));
    }
    if (const PartialState* found = partial(i))
        return u"%1 of %2 not compared"_s.arg(
            ui::countText(found->notCompared), ui::countText(param(i)->param.elements));
    if (m_rows[i].kind == DifferenceKind::Shape) {
        const PairedParam& pair = m_judged->diff.params[m_rows[i].at].param;
        return QString::fromStdString(shapeText(m_judged->left->params[index(pair.left)].shape)) % u" → "_s
            % QString::fromStdString(shapeText(m_judged->right->params[index(pair.right)].shape));
    }
    return {};
}

QString DifferenceList::text(uint32_t i, DifferenceColumn column, bool exact) const
{
    switch (column) {
    case DifferenceColumn::Kind:
        return kindText(i);
    case DifferenceColumn::Name:
        if (m_rows[i].kind == DifferenceKind::Options)
            return optionsText();
        return toText(scalar(i) != nullptr ? scalar(i)->left.name : param(i)->param.name);
    case DifferenceColumn::State:
        return scalar(i) != nullptr ? ownerText(scalar(i)->left) : toText(state(i));
    case DifferenceColumn::Different:
        return countText(i, exact);
    default:
        break;
    }
    const auto value = number(i, column);
    if (!value)
        return {};
    if (std::isnan(*value)) // elements are NaN or infinite: there is no number for them
        return exact ? u"nan"_s : u"–"_s;
    if (column == DifferenceColumn::Cosine && !exact)
        return QString::number(*value, 'f', 4);
    if (exact)
        return QString::number(*value, 'g', 17);
    return differenceText(*value);
}

QString differenceText(double measure)
{
    const bool small = measure != 0 && measure < 1e-3;
    return QString::number(measure, small ? 'e' : 'g', small ? 2 : 3).replace(u"e-0"_s, u"e-"_s);
}

QString notFiniteText(const Comparison& values)
{
    const DiffSide side = notFiniteSide(values);
    return u"%1 NaN/Inf (%2)"_s.arg(ui::countText(values.notFinite),
        side == DiffSide::Left        ? u"left"_s
            : side == DiffSide::Right ? u"right"_s
                                      : u"both sides"_s);
}

std::vector<FilterTerm> differenceTerms()
{
    using enum FilterTerm::Values;
    return {{u"kind"_s, Text, {u"only"_s, u"incomplete"_s, u"shape"_s, u"values"_s, u"last"_s, u"copy"_s},
                u"as the column says: kind:values"_s},
        {u"state"_s, Text, {}, u"the state: state:exp_avg"_s}};
}

std::vector<uint32_t> orderedDifferences(
    const DifferenceList& list, const DifferenceOrder& order, const std::stop_token& token)
{
    const FilterText filter = FilterText::read(order.filter, differenceTerms());
    std::vector<uint32_t> rows;
    for (uint32_t i = 0; i < list.size(); ++i) {
        if ((i & 1023u) == 0 && token.stop_requested())
            return {};
        if (!filter.isEmpty() && !keeps(filter, list, i))
            continue;
        rows.push_back(i);
    }
    if (!order.column)
        return rows;
    const DifferenceColumn column = *order.column;
    if (column >= DifferenceColumn::Different) {
        // Rows without a number are last in both directions. NaN is the worst value: the largest difference,
        // the smallest cosine.
        constexpr double kWorst = std::numeric_limits<double>::infinity();
        std::vector<std::optional<double>> keys(list.size());
        for (const uint32_t row : rows) {
            keys[row] = list.number(row, column);
            if (keys[row] && std::isnan(*keys[row]))
                keys[row] = column == DifferenceColumn::Cosine ? -kWorst : kWorst;
        }
        std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
            if (!keys[a] || !keys[b])
                return keys[a].has_value() && !keys[b].has_value();
            return order.descending ? *keys[a] > *keys[b] : *keys[a] < *keys[b];
        });
        return rows;
    }
    std::vector<std::string> keys(list.size());
    for (const uint32_t row : rows)
        keys[row] = list.text(row, column).toStdString();
    std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
        const int relation = compareNaturally(keys[a], keys[b]);
        return order.descending ? relation > 0 : relation < 0;
    });
    return rows;
}

std::vector<uint32_t> withFoldedOptions(
    const DifferenceList& list, const std::vector<uint32_t>& rows, bool unfolded)
{
    std::vector<uint32_t> options;
    std::ranges::copy_if(rows, std::back_inserter(options), [&](uint32_t row) { return list.isOption(row); });
    const bool hasParams
        = std::ranges::any_of(rows, [&](uint32_t row) { return list.param(row) != nullptr; });
    if (options.size() < 2 || !hasParams)
        return rows;
    std::vector<uint32_t> out;
    std::ranges::copy_if(
        rows, std::back_inserter(out), [&](uint32_t row) { return list.param(row) != nullptr; });
    out.push_back(list.optionsRow());
    if (unfolded)
        std::ranges::copy(options, std::back_inserter(out));
    std::ranges::copy_if(rows, std::back_inserter(out),
        [&](uint32_t row) { return list.param(row) == nullptr && !list.isOption(row); });
    return out;
}

} // namespace shardscope::ui
