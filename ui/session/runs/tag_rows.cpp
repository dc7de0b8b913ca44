// SPDX-License-Identifier: Apache-2.0
#include "ui/session/runs/tag_rows.h"

#include "core/base/text.h"
#include "core/report/answers/tags_report.h"
#include "ui/text/text.h"

#include <QDateTime>
#include <QStringList>

#include <algorithm>
#include <map>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int64_t kNsPerMs = 1'000'000;
/// Steps between two tags are a gap if they are more than this many times the usual ones.
constexpr double kGapFactor = 1.5;
constexpr size_t kFewestIntervals = 3;

/// Any number of ranks loads a universal folder.
bool hasRanks(const TagSummary& tag)
{
    return !isUniversal(tag.kind);
}

QString ranksText(const TagSummary& tag)
{
    const uint32_t ranks = tag.parallel.ranks();
    return ranks == 1 ? u"1 rank"_s : u"%1 ranks"_s.arg(countText(ranks));
}

/// "ZeRO-3 · 4 ranks".
QString formText(const TagSummary& tag)
{
    return hasRanks(tag) ? QString(kindText(tag.kind) % u" · "_s % ranksText(tag)) : kindText(tag.kind);
}

bool isReadable(const TagRow& row)
{
    return row.read && !row.read->error;
}

QString changeBetween(const TagSummary& former, const TagSummary& now)
{
    QStringList out;
    if (former.kind != now.kind)
        out.append(kindText(former.kind) % u" → "_s % kindText(now.kind));
    if (hasRanks(former) && hasRanks(now) && former.parallel.ranks() != now.parallel.ranks())
        out.append(countText(former.parallel.ranks()) % u" → "_s % ranksText(now));
    return out.join(u" · "_s);
}

void markGaps(std::vector<TagRow>& rows)
{
    std::vector<int64_t> intervals;
    for (const TagRow& row : rows)
        if (row.steps && *row.steps > 0)
            intervals.push_back(*row.steps);
    if (intervals.size() < kFewestIntervals)
        return;
    const auto middle = intervals.begin() + static_cast<std::ptrdiff_t>(intervals.size() / 2);
    std::nth_element(intervals.begin(), middle, intervals.end());
    for (TagRow& row : rows)
        row.isGap = row.steps && static_cast<double>(*row.steps) > kGapFactor * static_cast<double>(*middle);
}

QString stepText(const TagRow& row)
{
    const auto& step = row.read->steps.globalSteps;
    return step ? countText(static_cast<uint64_t>(*step)) : u"–"_s;
}

QString nameText(const TagRow& row)
{
    QString out = toText(row.tag);
    if (row.read && row.read->latest)
        out += u"  · latest"_s;
    if (row.isOpen)
        out += u"  · open"_s;
    return out;
}

QString changesText(const TagRow& row)
{
    QStringList out;
    if (!row.change.isEmpty())
        out.append(row.change);
    if (row.isGap)
        out.append(u"gap before it"_s);
    if (row.steps && *row.steps <= 0)
        out.append(*row.steps == 0 ? u"same step as the one before"_s : u"step before the one before"_s);
    if (!row.same.isEmpty())
        out.append(u"same state as %1"_s.arg(row.same));
    return out.join(u" · "_s);
}

} // namespace

std::vector<TagRow> tagRows(const TagStore& store)
{
    std::vector<TagRow> out;
    std::map<std::string, std::string> fingerprints;
    const TagSummary* former = nullptr;
    for (const StoredTag& tag : store.tags()) {
        TagRow row{tag.tag, tag.read, {}, false, {}, {}, tag.tag == store.openTag()};
        if (isReadable(row)) {
            const TagSummary& now = *row.read;
            if (former != nullptr) {
                row.change = changeBetween(*former, now);
                if (former->steps.globalSteps && now.steps.globalSteps)
                    row.steps = *now.steps.globalSteps - *former->steps.globalSteps;
            }
            if (!now.fingerprint.empty()) {
                const auto [at, isNew] = fingerprints.emplace(now.fingerprint, tag.tag);
                if (!isNew)
                    row.same = toText(at->second);
            }
            former = &now;
        } else if (!row.read) {
            former = nullptr; // what changed is not known until it is read
        }
        out.push_back(std::move(row));
    }
    markGaps(out);
    return out;
}

QString rankCountText(const TagSummary& tag)
{
    return hasRanks(tag) ? countText(tag.parallel.ranks()) : u"–"_s;
}

QString tagStateText(const TagSummary& tag)
{
    if (tag.error)
        return u"cannot be read"_s;
    const size_t errors = tag.count(Severity::Error);
    return errors == 0 ? u"complete"_s : errors == 1 ? u"1 error"_s : u"%1 errors"_s.arg(errors);
}

QStringList tagLines(const TagSummary& tag)
{
    if (tag.error)
        return {};
    QStringList what;
    if (tag.steps.globalSteps)
        what.append(u"step %1"_s.arg(*tag.steps.globalSteps));
    what << formText(tag);
    return {what.join(u" · "_s), bytesText(tag.bytes) % u" · "_s % tagDateText(tag)};
}

QString tagRowState(const TagRow& row)
{
    return row.read ? tagStateText(*row.read) : u"not read yet"_s;
}

bool holdsWords(const QString& text, const QStringList& words)
{
    return std::all_of(words.begin(), words.end(),
        [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

QString tagDateText(const TagSummary& tag)
{
    return tag.modifiedNs <= 0
        ? QString()
        : QDateTime::fromMSecsSinceEpoch(tag.modifiedNs / kNsPerMs).toString(u"yyyy-MM-dd HH:mm"_s);
}

QString tagMenuText(const TagSummary& tag)
{
    QStringList out;
    if (tag.steps.globalSteps)
        out.append(u"step %1"_s.arg(countText(static_cast<uint64_t>(*tag.steps.globalSteps))));
    if (!tag.error) {
        out.append(bytesText(tag.bytes));
        out.append(tagDateText(tag));
    }
    if (!tag.isComplete())
        out.append(tagStateText(tag));
    return out.join(u" · "_s);
}

QString tagRowText(const TagRow& row)
{
    QStringList out{nameText(row)};
    if (isReadable(row)) {
        const TagSummary& tag = *row.read;
        out << u"step %1"_s.arg(stepText(row)) << tagDateText(tag) << bytesText(tag.bytes) << formText(tag);
    }
    out.append(tagRowState(row));
    if (row.read && !row.read->isComplete())
        out.append(toText(whyIncomplete(*row.read)));
    if (const QString changes = changesText(row); !changes.isEmpty())
        out.append(changes);
    return out.join(u" · "_s);
}

TagTableModel::TagTableModel(QObject* parent)
    : ColumnTable(parent)
{
    // What a readable tag says, else a dash.
    const auto of = [this](auto text) {
        return [this, text](uint32_t row) { return isReadable(at(row)) ? text(*at(row).read) : u"–"_s; };
    };
    const auto by = [this](auto key) {
        return [this, key](uint32_t a, uint32_t b) {
            const auto keyOf = [&](uint32_t row) {
                return isReadable(at(row)) ? std::optional(key(at(row))) : std::nullopt;
            };
            return keyOf(a) < keyOf(b);
        };
    };
    Column name(tr("Tag"), [this](uint32_t row) { return nameText(at(row)); });
    name.tip = [this](uint32_t row) { return tagRowText(at(row)); };
    name.copy = [this](uint32_t row) { return toText(at(row).tag); };
    name.less = [](uint32_t a, uint32_t b) { return a < b; };
    Column step(
        tr("Step"), [this](uint32_t row) { return isReadable(at(row)) ? stepText(at(row)) : u"–"_s; });
    step.isNumber = true;
    step.less = by([](const TagRow& row) { return row.read->steps.globalSteps.value_or(-1); });
    Column since(tr("Since the last"), [this](uint32_t row) {
        return at(row).steps ? QLocale::c().toString(qlonglong{*at(row).steps}) : u"–"_s;
    });
    since.titleTip = tr("Steps since the tag before");
    since.isNumber = true;
    since.muted = [this](uint32_t row) { return !at(row).isGap; };
    since.less = by([](const TagRow& row) { return row.steps.value_or(-1); });
    Column date(tr("Date"), of([](const TagSummary& tag) { return tagDateText(tag); }));
    date.titleTip = tr("Of the newest file");
    date.less = by([](const TagRow& row) { return row.read->modifiedNs; });
    Column size(tr("Size"), of([](const TagSummary& tag) { return bytesText(tag.bytes); }));
    size.tip = of([](const TagSummary& tag) { return exactBytesText(tag.bytes); });
    size.copy = of([](const TagSummary& tag) { return QString::number(tag.bytes); });
    size.isNumber = true;
    size.share = [this](uint32_t row) {
        return isReadable(at(row)) ? shareOf(at(row).read->bytes, m_maxBytes) : QVariant();
    };
    size.less = by([](const TagRow& row) { return row.read->bytes; });
    Column kind(tr("Kind"), of([](const TagSummary& tag) { return kindText(tag.kind); }));
    kind.less = by([](const TagRow& row) { return row.read->kind; });
    Column ranks(tr("Ranks"), of([](const TagSummary& tag) { return rankCountText(tag); }));
    ranks.isNumber = true;
    ranks.less = by([](const TagRow& row) { return row.read->parallel.ranks(); });
    Column state(tr("State"), [this](uint32_t row) { return tagRowState(at(row)); });
    state.tip = [this](uint32_t row) {
        const TagRow& tag = at(row);
        return !tag.read ? tagRowState(tag)
            : tag.read->isComplete()
            ? tr("Every file that stock DeepSpeed needs is there with a whole header. Values were not read.")
            : sentenceText(whyIncomplete(*tag.read));
    };
    state.severity = [this](uint32_t row) { return at(row).read && !at(row).read->isComplete() ? 2 : -1; };
    state.muted = [this](uint32_t row) { return !at(row).read; };
    state.less = by([](const TagRow& row) { return row.read->isComplete(); });
    Column change(tr("Changes"), [this](uint32_t row) { return changesText(at(row)); });
    change.less = by([](const TagRow& row) { return changesText(row); });
    setColumns({name, step, since, date, size, kind, ranks, state, change});
}

void TagTableModel::setTags(std::vector<TagRow> tags)
{
    m_tags = std::move(tags);
    m_maxBytes = 0;
    for (const TagRow& row : m_tags)
        m_maxBytes = std::max(m_maxBytes, isReadable(row) ? row.read->bytes : 0);
    rebuild();
}

void TagTableModel::setFilter(const QString& text)
{
    m_filter = text.split(u' ', Qt::SkipEmptyParts);
    rebuild();
}

void TagTableModel::sort(int column, Qt::SortOrder order)
{
    m_sortColumn = column;
    m_sortOrder = order;
    rebuild();
}

void TagTableModel::rebuild()
{
    std::vector<uint32_t> rows = firstNumbers(m_tags.size());
    if (m_sortColumn < 0)
        std::reverse(rows.begin(), rows.end());
    std::erase_if(rows,
        [this](uint32_t row) { return !m_filter.isEmpty() && !holdsWords(tagRowText(at(row)), m_filter); });
    setRows(m_sortColumn < 0 ? std::move(rows) : sortedBy(m_sortColumn, m_sortOrder, std::move(rows)));
}

} // namespace shardscope::ui
