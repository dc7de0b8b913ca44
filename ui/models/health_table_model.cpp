// SPDX-License-Identifier: Apache-2.0
#include "ui/models/health_table_model.h"

#include "ui/text/text.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr size_t kFirstFigure = HealthTableModel::kOverTags + 1; ///< column
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

bool lessOrUnknown(double left, double right)
{
    return std::isnan(right) ? !std::isnan(left) : left < right; // what is not known comes last
}

} // namespace

QString healthValueText(double value)
{
    return std::isfinite(value) ? QString::number(value, 'g', 3) : u"–"_s;
}

double HealthQuantity::valueOf(const HealthRow& row) const
{
    switch (kind) {
    case Kind::Update:
        return row.updated > 0 && row.missing() == 0 ? row.updateRatio() : kUnknown;
    case Kind::Weights:
        return row.weights().rms();
    case Kind::State: {
        const StateHealth* found = row.find(state);
        return found == nullptr ? kUnknown : found->rms();
    }
    case Kind::Zeros: {
        const StateHealth weights = row.weights();
        return weights.read == 0 ? kUnknown
                                 : static_cast<double>(weights.zeros) / static_cast<double>(weights.read);
    }
    }
    return kUnknown;
}

HealthTableModel::HealthTableModel(QObject* parent)
    : ColumnTable(parent)
{
    makeColumns();
}

void HealthTableModel::setContent(Content content, const HealthQuantity& overTags)
{
    reset([&] {
        m_content = std::move(content);
        m_overTags = overTags;
        makeColumns();
        m_rows = firstNumbers(m_content.rows == nullptr ? 0 : m_content.rows->size());
        if (m_sortColumn >= 0 && m_sortColumn < columnCount())
            m_rows = sorted(std::move(m_rows));
    });
}

int HealthTableModel::rowNamed(std::string_view name) const
{
    for (size_t i = 0; i < m_rows.size(); ++i) {
        if (row(m_rows[i]).name == name)
            return static_cast<int>(i);
    }
    return -1;
}

void HealthTableModel::sort(int column, Qt::SortOrder order)
{
    m_sortColumn = column;
    m_sortOrder = order;
    std::vector<uint32_t> rows = firstNumbers(m_rows.size());
    setRows(column < 0 ? std::move(rows) : sorted(std::move(rows)));
}

/// Rows whose figure is not known come last, in both directions.
std::vector<uint32_t> HealthTableModel::sorted(std::vector<uint32_t> rows) const
{
    rows = sortedBy(m_sortColumn, m_sortOrder, std::move(rows));
    const auto figure = static_cast<size_t>(m_sortColumn) - kFirstFigure;
    if (m_sortColumn >= static_cast<int>(kFirstFigure) && figure < m_quantities.size())
        std::ranges::stable_partition(
            rows, [&](uint32_t number) { return std::isfinite(m_quantities[figure].valueOf(row(number))); });
    return rows;
}

void HealthTableModel::makeColumns()
{
    using Kind = HealthQuantity::Kind;
    m_quantities = {{tr("Update"), {}, Kind::Update}, {tr("Weights"), {}, Kind::Weights}};
    for (size_t i = 0; m_content.rows != nullptr && i < m_content.rows->size(); ++i) {
        for (const StateHealth& state : (*m_content.rows)[i].states) {
            const HealthQuantity quantity{toText(state.state), state.state, Kind::State};
            if (!isWeightState(state.state) && !std::ranges::count(m_quantities, quantity))
                m_quantities.push_back(quantity);
        }
    }
    m_quantities.push_back({tr("Zeros"), {}, Kind::Zeros});
    std::vector<Column> columns{nameColumn(), tagsColumn()};
    for (const HealthQuantity& quantity : m_quantities)
        columns.push_back(quantityColumn(quantity));
    columns.push_back(countColumn(tr("NaN"), &StateHealth::nans));
    columns.push_back(countColumn(tr("Inf"), &StateHealth::infinities));
    Column steps(tr("Steps"), [this](uint32_t number) {
        const auto& step = row(number).firstStep;
        return step ? countText(static_cast<uint64_t>(*step)) : u"–"_s;
    });
    steps.isNumber = true;
    steps.titleTip = tr("Steps that the moments were updated for, as the optimizer keeps it");
    steps.less = [this](uint32_t left, uint32_t right) { return row(left).firstStep < row(right).firstStep; };
    columns.push_back(steps);
    setColumns(std::move(columns));
}

HealthTableModel::Column HealthTableModel::nameColumn() const
{
    Column name(m_content.byParam ? tr("Parameter") : tr("Layer"), [this](uint32_t number) {
        const HealthRow& of = row(number);
        const bool isRead
            = std::ranges::any_of(of.states, [](const StateHealth& state) { return state.read > 0; });
        return of.missing() == 0 ? toText(of.name)
            : isRead             ? tr("%1 · not all read").arg(toText(of.name))
                                 : tr("%1 · not read").arg(toText(of.name));
    });
    name.copy = [this](uint32_t number) { return toText(row(number).name); };
    name.tip = [this](uint32_t number) {
        const HealthRow& of = row(number);
        QString text = toText(of.name) % u'\n' % parametersText(of.parameters) % u", "_s
            % tr("%1 elements").arg(countText(of.elements));
        if (!of.exact)
            text += u'\n' % tr("Large tensors were sampled.");
        if (of.missing() > 0)
            text += u'\n' % tr("%1 elements cannot be read.").arg(countText(of.missing()));
        return text;
    };
    name.severity = [this](uint32_t number) { return severityOf(row(number)); };
    // The order of the model, which is that of the layers.
    name.less = [](uint32_t left, uint32_t right) { return left < right; };
    return name;
}

HealthTableModel::Column HealthTableModel::quantityColumn(const HealthQuantity& quantity) const
{
    const auto value = [this, quantity](uint32_t number) { return quantity.valueOf(row(number)); };
    Column out(quantity.title, [value, quantity](uint32_t number) {
        return quantity.kind == HealthQuantity::Kind::Zeros && std::isfinite(value(number))
            ? percentText(value(number))
            : healthValueText(value(number));
    });
    out.copy = [value](uint32_t number) { return QString::number(value(number), 'g', 17); };
    out.isNumber = true;
    out.less = [value](uint32_t left, uint32_t right) { return lessOrUnknown(value(left), value(right)); };
    double most = 0;
    for (size_t i = 0; m_content.rows != nullptr && i < m_content.rows->size(); ++i) {
        const double each = quantity.valueOf((*m_content.rows)[i]);
        most = std::isfinite(each) ? std::max(most, each) : most;
    }
    out.share = [value, most](uint32_t number) {
        return most > 0 && std::isfinite(value(number)) ? QVariant(value(number) / most) : QVariant();
    };
    if (quantity.kind == HealthQuantity::Kind::Update) {
        out.titleTip
            = tr("Root mean square of the last step's update, without weight decay, by that of the weights");
        out.tip = [this, value](uint32_t number) {
            const std::string_view why
                = row(number).updated > 0 ? std::string_view() : noUpdateText(row(number).noUpdate);
            return !why.empty()             ? sentenceText(why)
                : row(number).missing() > 0 ? tr("Not all of it can be read.")
                                            : QString::number(value(number), 'g', 17);
        };
    } else if (quantity.kind == HealthQuantity::Kind::Zeros) {
        out.titleTip = tr("Share of the weights that are zero");
    } else {
        out.titleTip = tr("Root mean square of the finite elements");
    }
    return out;
}

HealthTableModel::Column HealthTableModel::countColumn(
    const QString& title, uint64_t StateHealth::*count) const
{
    const auto sum = [this, count](uint32_t number) {
        uint64_t out = 0;
        for (const StateHealth& state : row(number).states)
            out += state.*count;
        return out;
    };
    Column out(title, [sum](uint32_t number) { return countText(sum(number)); });
    out.tip = [this, count](uint32_t number) {
        QStringList lines;
        for (const StateHealth& state : row(number).states)
            lines += toText(state.state) % u": "_s % countText(state.*count);
        return lines.join(u'\n');
    };
    out.isNumber = true;
    out.muted = [sum](uint32_t number) { return sum(number) == 0; };
    out.severity = [sum](uint32_t number) { return sum(number) == 0 ? -1 : 2; };
    out.less = [sum](uint32_t left, uint32_t right) { return sum(left) < sum(right); };
    return out;
}

HealthTableModel::Column HealthTableModel::tagsColumn() const
{
    const auto values = [this](uint32_t number) {
        return m_content.history == nullptr
            ? std::vector<double>()
            : valuesOverTags(*m_content.history, row(number).name, m_content.byParam, m_overTags, number);
    };
    Column out;
    out.title = tr("Over tags");
    out.titleTip = m_overTags.title;
    out.spark = [values](uint32_t number) {
        QVariantList list;
        for (const double value : values(number))
            list.append(value);
        return list.size() < 2 ? QVariant() : QVariant(list);
    };
    out.tip = [this, values](uint32_t number) {
        QStringList lines;
        const std::vector<double> all = values(number);
        for (size_t i = 0; i < all.size(); ++i)
            lines += toText((*m_content.history)[i].tag) % u": "_s % healthValueText(all[i]);
        return lines.join(u'\n');
    };
    out.copy = out.tip;
    out.less = [](uint32_t left, uint32_t right) { return left < right; };
    return out;
}

int HealthTableModel::severityOf(const HealthRow& of) const
{
    int out = -1;
    const std::string layer = m_content.byParam ? healthLayerOf(of.name) : of.name;
    for (size_t i = 0; m_content.alarms != nullptr && i < m_content.alarms->size(); ++i) {
        const HealthAlarm& alarm = (*m_content.alarms)[i];
        if (alarm.layer == layer && alarm.code != kNotRead)
            out = std::max(out, static_cast<int>(alarm.severity));
    }
    return out;
}

std::vector<double> valuesOverTags(const std::vector<TagHealth>& history, std::string_view name, bool byParam,
    const HealthQuantity& quantity, size_t place)
{
    std::vector<double> out;
    for (const TagHealth& tag : history) {
        const std::vector<HealthRow>& rows = byParam ? tag.params : tag.layers;
        const bool isThere = place < rows.size() && rows[place].name == name;
        const auto found = isThere ? rows.begin() + static_cast<std::ptrdiff_t>(place)
                                   : std::ranges::find(rows, name, &HealthRow::name);
        out.push_back(found == rows.end() ? kUnknown : quantity.valueOf(*found));
    }
    return out;
}

} // namespace shardscope::ui
