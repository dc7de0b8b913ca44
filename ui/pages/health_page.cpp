// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/health_page.h"

#include "ui/controls/table_setup.h"
#include "ui/session/runs/tag_store.h"
#include "ui/session/shell_words.h"
#include "ui/style/icons.h"
#include "ui/text/progress_text.h"
#include "ui/text/text.h"
#include "ui/widgets/flow_layout.h"
#include "ui/widgets/focus_order.h"
#include "ui/widgets/message_bar.h"
#include "ui/widgets/path_field.h"
#include "ui/widgets/series_chart.h"

#include <QAction>
#include <QComboBox>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

/// Layers, and parameters of layers, that differ only in the layer's number are one series.
QString seriesOf(const std::string& name)
{
    QStringList parts = toText(name).split(u'.');
    const auto number = std::ranges::find_if(parts, [](const QString& part) {
        return !part.isEmpty() && std::ranges::all_of(part, [](QChar c) { return c.isDigit(); });
    });
    if (number != parts.end())
        *number = u"#"_s;
    return parts.join(u'.');
}

} // namespace

PageEntry HealthPage::entry()
{
    return {PageId::Health, u"health"_s, u"actionHealth"_s, tr("Health"), tr("&Health"), u"health"_s,
        u"health"_s, &makePage<HealthPage>};
}

HealthPage::HealthPage(const PageContext& context, QWidget* parent)
    : Page(context, parent)
    , m_run(context.session.files())
    , m_facts(m_run.facts())
    , m_model(new HealthTableModel(this))
    , m_messages(new MessageBar(context.theme, this))
    , m_summary(new QLabel(this))
    , m_rows(new QComboBox(this))
    , m_quantity(new QComboBox(this))
    , m_exact(new QPushButton(tr("Read &Every Element"), this))
    , m_alarms(new QListWidget(this))
    , m_table(new QTableView(this))
    , m_overLayers(new SeriesChart(context.theme, this))
    , m_overTags(new SeriesChart(context.theme, this))
    , m_splitter(new QSplitter(Qt::Vertical, this))
    , m_empty(makeEmpty(u"healthEmpty"_s))
{
    setObjectName(u"healthPage"_s);
    m_messages->setObjectName(u"healthMessages"_s);
    m_messages->hide();
    m_summary->setObjectName(u"healthSummary"_s);
    m_summary->setWordWrap(true);
    m_summary->setContentsMargins(12, 0, 12, 6);
    m_alarms->setObjectName(u"healthAlarms"_s);
    m_alarms->setAccessibleName(tr("What looks wrong"));
    m_alarms->setFrameShape(QFrame::NoFrame);
    m_alarms->setTextElideMode(Qt::ElideRight); // the whole text is the tool tip
    m_alarms->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_alarms->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_overLayers->setObjectName(u"healthOverLayers"_s);
    m_overTags->setObjectName(u"healthOverTags"_s);
    prepareTable(m_table, context.theme, u"healthTable"_s, tr("Health by layer"));
    m_table->setModel(m_model);
    m_table->setSortingEnabled(true);
    m_table->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    makeLayout();
    connectParts();
    handFocusTo(this, m_table);
    showFacts();
}

QWidget* HealthPage::makeBar()
{
    auto* bar = new QWidget(this);
    auto* row = new FlowLayout(bar);
    row->setContentsMargins(12, 8, 12, 6);
    m_rows->setObjectName(u"healthRows"_s);
    m_rows->setAccessibleName(tr("Rows"));
    m_rows->addItems({tr("By layer"), tr("By parameter")});
    m_quantity->setObjectName(u"healthQuantity"_s);
    m_quantity->setAccessibleName(tr("Figure of the charts"));
    m_quantity->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_exact->setObjectName(u"healthExact"_s);
    m_exact->setToolTip(
        tr("Reads all tags whole. Without it, at most 16,384 elements of a tensor are read."));
    for (QWidget* widget : std::initializer_list<QWidget*>{m_rows, m_quantity, m_exact})
        row->addWidget(widget);
    return bar;
}

void HealthPage::makeLayout()
{
    auto* charts = new QSplitter(Qt::Horizontal, m_splitter);
    charts->setObjectName(u"healthCharts"_s);
    charts->setChildrenCollapsible(false);
    charts->addWidget(m_overLayers);
    charts->addWidget(m_overTags);
    m_splitter->setObjectName(u"healthSplitter"_s);
    m_splitter->setChildrenCollapsible(false);
    m_splitter->addWidget(m_table);
    m_splitter->addWidget(charts);
    m_splitter->setStretchFactor(0, 3);
    m_splitter->setStretchFactor(1, 2);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(makeBar());
    rows->addWidget(m_summary);
    rows->addWidget(m_messages);
    rows->addWidget(m_alarms);
    rows->addWidget(m_splitter, 1);
    rows->addWidget(m_empty, 1);
}

void HealthPage::connectParts()
{
    connect(&m_run, &HealthRun::changed, this, &HealthPage::showFacts);
    connect(&m_run, &HealthRun::progressChanged, this, &HealthPage::showProgress);
    connect(m_exact, &QPushButton::clicked, this, &HealthPage::readExactly);
    connect(m_rows, &QComboBox::currentIndexChanged, this, &HealthPage::showRows);
    connect(m_quantity, &QComboBox::currentIndexChanged, this, [this] {
        if (!m_filling)
            showRows();
    });
    const auto goTo = [this](const QListWidgetItem* item) {
        if (item != nullptr)
            goToAlarm(item->data(Qt::UserRole).toInt());
    };
    connect(m_alarms, &QListWidget::currentItemChanged, this, goTo);
    connect(m_alarms, &QListWidget::itemClicked, this, goTo);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
        [this](const QModelIndex& now) {
            if (!m_filling && now.isValid())
                chooseRow(now.row());
        });
    connect(
        addViewAction(m_table, tr("Save Table…")), &QAction::triggered, this, &HealthPage::askWhereToSave);
    connect(m_table, &QTableView::activated, this, [this](const QModelIndex& at) {
        const auto param = isByParam() && m_checkpoint
            ? m_checkpoint->findParam(m_model->row(m_model->rowAt(at.row())).name)
            : std::nullopt;
        if (param)
            Q_EMIT parameterActivated(*param);
    });
    connect(m_overLayers, &SeriesChart::selected, this, [this](int point) {
        const std::string& name
            = (*(isByParam() ? &m_facts->tag->params : &m_facts->tag->layers))[static_cast<size_t>(point)]
                  .name;
        m_table->setCurrentIndex(m_model->index(m_model->rowNamed(name), 0));
    });
    connect(m_overTags, &SeriesChart::activated, this, [this](int point) {
        const TagHealth& tag = m_facts->history[static_cast<size_t>(point)];
        if (!tag.error)
            Q_EMIT tagRequested(QByteArray::fromStdString(tag.tag));
    });
}

void HealthPage::showCheckpoint()
{
    const bool isSame = m_isWanted && !m_run.isRunning();
    m_run.clear();
    m_isWanted = m_checkpoint != nullptr;
    if (!isSame)
        m_messages->hide();
    startIfShown();
}

void HealthPage::showEvent(QShowEvent* event)
{
    Page::showEvent(event);
    startIfShown();
}

/// The first snapshot of a checkpoint lacks files: it is not judged.
void HealthPage::startIfShown()
{
    if (!m_isWanted || !isVisible() || !m_checkpoint || !m_checkpoint->fullyRead)
        return;
    m_isWanted = false;
    start(false);
}

void HealthPage::start(bool exact)
{
    const TagStore& tags = m_context.session.tags();
    m_run.start(m_checkpoint, {tags.folder(), tags.openTag(), m_place.open}, exact);
}

void HealthPage::readExactly()
{
    if (m_run.isRunning())
        m_run.stop();
    else if (m_checkpoint)
        start(true);
}

void HealthPage::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Escape && m_run.isRunning())
        m_run.stop();
    else
        Page::keyPressEvent(event);
}

void HealthPage::showProgress()
{
    m_empty->setText(tr("Reading values… %1").arg(progressFacts(m_run.progress()).join(u" · "_s)));
}

void HealthPage::showFacts()
{
    m_facts = m_run.facts();
    const bool hasTag = m_facts->tag.has_value();
    m_splitter->setVisible(hasTag);
    m_empty->setVisible(!hasTag);
    m_empty->setText(!m_checkpoint ? tr("Open a checkpoint to see the health of its training state.")
            : m_run.isRunning()    ? tr("Reading values…")
            : m_facts->error       ? errorText(*m_facts->error)
                                   : tr("Nothing was read."));
    m_exact->setEnabled(m_checkpoint != nullptr);
    m_exact->setText(m_run.isRunning() ? tr("&Stop") : tr("Read &Every Element"));
    if (hasTag && m_facts->error)
        m_messages->showError(*m_facts->error);
    else
        m_messages->hide();
    showAlarms(*m_facts);
    if (m_chosen.empty() && m_facts->isComplete && !m_facts->alarms.empty())
        m_chosen = m_facts->alarms.front().layer;
    showRows();
}

void HealthPage::addAlarm(const HealthAlarm& alarm, int number)
{
    const bool isRead = alarm.code != kNotRead;
    const QString text = toText(alarm.tag) % u" · "_s % toText(alarm.text);
    auto* item = new QListWidgetItem(isRead ? text : tr("Not read: %1").arg(text), m_alarms);
    const bool isError = alarm.severity == Severity::Error;
    const bool isInfo = alarm.severity == Severity::Info;
    item->setIcon(themedIcon(m_context.theme,
        isInfo        ? u"info"_s
            : isError ? u"error"_s
                      : u"warning"_s,
        isInfo        ? ThemeRole::Info
            : isError ? ThemeRole::Error
                      : ThemeRole::Warning));
    item->setToolTip(item->text());
    item->setData(Qt::UserRole, number);
}

void HealthPage::showAlarms(const HealthFacts& facts)
{
    m_filling = true;
    m_alarms->clear();
    for (const bool wrong : {true, false}) { // what was not read comes last
        for (size_t i = 0; i < facts.alarms.size(); ++i) {
            if ((facts.alarms[i].code != kNotRead) == wrong)
                addAlarm(facts.alarms[i], static_cast<int>(i));
        }
    }
    m_filling = false;
    constexpr int kMostLines = 5;
    m_alarms->setVisible(!facts.alarms.empty());
    const int line = std::max(m_alarms->sizeHintForRow(0), fontMetrics().height() + 8);
    m_alarms->setFixedHeight(line * std::min(m_alarms->count(), kMostLines) + 6);
    if (!facts.tag) {
        m_summary->clear();
        return;
    }
    QString text = summaryText(facts);
    if (!facts.tag->exact)
        text += u' ' % tr("≈ Large tensors were sampled.");
    if (facts.tagsOmitted > 0)
        text += u' ' % tr("Other tags were not read: %1.").arg(facts.tagsOmitted);
    m_summary->setText(text);
}

QString HealthPage::summaryText(const HealthFacts& facts) const
{
    if (m_run.isRunning())
        return facts.tagsLeft > 0 ? tr("Reading more tags of the run: %1 left…").arg(facts.tagsLeft)
                                  : tr("Reading the tags of the run…");
    const bool isWhole = facts.isWhole();
    const QString rest = isWhole ? QString()
        : facts.error            ? u' ' % tr("The other tags were not read.")
                                 : u' ' % tr("Reading was stopped: not all tags were read.");
    const size_t wrong = countWrong(facts.alarms);
    const QString notJudged = toText(notJudgedText(*facts.tag));
    const QString left
        = notJudged.isEmpty() ? rest : u' ' % tr("Cannot be judged: %1.").arg(notJudged) % rest;
    if (wrong == 1)
        return tr("One thing looks wrong:") % left;
    if (wrong > 0)
        return tr("%1 things look wrong:").arg(wrong) % left;
    if (!wasRead(*facts.tag))
        return left.trimmed();
    if (!facts.alarms.empty() || !notJudged.isEmpty())
        return tr("Nothing looks wrong in what was read.") % left;
    if (isWhole && facts.history.size() > 1)
        return tr("Nothing looks wrong in %1 tags.").arg(facts.history.size());
    const QString alone = tr("Nothing looks wrong in this tag alone.");
    if (isWhole && facts.isListed)
        return alone % u' ' % tr("There is no other tag to compare it with.");
    return alone % rest;
}

void HealthPage::askWhereToSave()
{
    if (!m_checkpoint)
        return;
    const QString name
        = m_checkpoint->tag.empty() ? tr("health") : QString(toText(m_checkpoint->tag) % u"-health"_s);
    askForPath(this,
        {.kind = PathQuestion::Kind::NewFile,
            .name = u"saveHealthDialog"_s,
            .title = tr("Save the Rows of the Table"),
            .filters = tr("CSV table (*.csv);;JSON answer (*.json)"),
            .suggested = name % u".csv"_s},
        [this](const QString& path) { saveRows(path); });
}

void HealthPage::saveRows(const QString& path)
{
    if (!m_checkpoint || !m_facts->tag)
        return;
    ShellCommand command(u"stats"_s, sourceWords(*m_checkpoint, m_place));
    command.flag(u"--health"_s, true)
        .flag(u"--params"_s, isByParam())
        .flag(u"--history"_s, m_facts->hasHistory())
        .flag(u"--exact"_s, m_run.isExact())
        .flag(u"--json"_s, true);
    m_saver.save(
        [&files = m_context.session.files(),
            table = HealthTable{m_checkpoint, m_facts, m_model->rows(), isByParam(), m_place.path,
                reportHead(command.text().toStdString())},
            target = SaveTarget{path, readAt(m_place)}] { return writeHealthTable(files, table, target); },
        m_facts->isWhole()
            ? tr("Saved the rows to %1.").arg(path)
            : tr("Saved the rows of this tag to %1. The other tags are not in it: they were not all read.")
                  .arg(path));
}

bool HealthPage::isByParam() const
{
    return m_rows->currentIndex() == 1 && m_facts->tag && !m_facts->tag->params.empty();
}

HealthQuantity HealthPage::quantity() const
{
    const auto& all = m_model->quantities();
    const auto at = static_cast<size_t>(std::max(m_quantity->currentIndex(), 0));
    return at < all.size() ? all[at] : all.front();
}

void HealthPage::showRows()
{
    m_filling = true;
    HealthTableModel::Content content{m_facts};
    if (m_facts->tag) {
        content.byParam = isByParam();
        content.rows = content.byParam ? &m_facts->tag->params : &m_facts->tag->layers;
        content.history = &m_facts->history;
        content.alarms = &m_facts->alarms;
    }
    const QString title = m_quantity->currentText();
    m_model->setContent(content, quantity());
    QStringList titles;
    for (const HealthQuantity& each : m_model->quantities())
        titles += each.title;
    m_quantity->clear();
    m_quantity->addItems(titles);
    m_quantity->setCurrentIndex(std::max<int>(static_cast<int>(titles.indexOf(title)), 0));
    m_table->setColumnHidden(HealthTableModel::kOverTags, m_facts->history.size() < 2); // it would be empty
    fitColumns(m_table, fontMetrics().averageCharWidth() * 60);
    m_rows->setEnabled(m_facts->tag && !m_facts->tag->params.empty());
    const int row = m_model->rowNamed(m_chosen);
    if (row >= 0)
        m_table->setCurrentIndex(m_model->index(row, 0));
    m_filling = false;
    showCharts();
}

void HealthPage::showCharts()
{
    // That there is no other tag is said above.
    m_overTags->setVisible(m_facts->history.size() > 1 || m_run.isRunning());
    if (!m_facts->tag) {
        m_overLayers->setPoints({}, {}, {});
        m_overTags->setPoints({}, {}, {});
        return;
    }
    const HealthQuantity shown = quantity();
    std::vector<SeriesChart::Point> layers;
    int current = -1;
    for (const HealthRow& row : isByParam() ? m_facts->tag->params : m_facts->tag->layers) {
        if (row.name == m_chosen)
            current = static_cast<int>(layers.size());
        layers.push_back({toText(row.name), shown.valueOf(row),
            m_facts->hasAlarm(isByParam() ? healthLayerOf(row.name) : row.name), seriesOf(row.name)});
    }
    const QString title = isByParam() ? tr("%1 over the parameters of %2") : tr("%1 over the layers of %2");
    m_overLayers->setPoints(title.arg(shown.title, toText(m_facts->tag->tag)), std::move(layers),
        isByParam() ? tr("No parameter has a value to show.") : tr("No layer has a value to show."));
    m_overLayers->setCurrent(current);
    const std::vector<double> values = m_chosen.empty()
        ? std::vector<double>()
        : valuesOverTags(m_facts->history, m_chosen, isByParam(), shown);
    std::vector<SeriesChart::Point> tags;
    int own = -1;
    for (size_t i = 0; i < values.size(); ++i) {
        const TagHealth& tag = m_facts->history[i];
        const bool isMarked = std::ranges::any_of(m_facts->alarms, [&](const HealthAlarm& alarm) {
            return alarm.code != kNotRead && alarm.tag == tag.tag
                && (alarm.layer.empty() || alarm.layer == (isByParam() ? healthLayerOf(m_chosen) : m_chosen));
        });
        own = tag.tag == m_facts->tag->tag ? static_cast<int>(i) : own;
        tags.push_back({toText(tag.tag), values[i], isMarked, {}});
    }
    const QString name = m_chosen.empty() ? tr("Over the tags of the run")
                                          : tr("%1 of %2 over tags").arg(shown.title, toText(m_chosen));
    m_overTags->setPoints(name, std::move(tags),
        m_chosen.empty() ? tr("Select a layer to see it over the tags of the run.")
                         : tr("No tag has a value to show."));
    if (m_overTags->current() < 0)
        m_overTags->setCurrent(own);
}

void HealthPage::chooseRow(int row)
{
    m_chosen = m_model->row(m_model->rowAt(row)).name;
    showCharts();
    if (const auto param = isByParam() && m_checkpoint ? m_checkpoint->findParam(m_chosen) : std::nullopt)
        m_context.selection.selectParam(*param);
}

void HealthPage::goToAlarm(int number)
{
    if (m_filling || number < 0 || number >= static_cast<int>(m_facts->alarms.size()))
        return;
    const HealthAlarm& alarm = m_facts->alarms[static_cast<size_t>(number)];
    if (!alarm.layer.empty()) {
        m_chosen = alarm.layer;
        m_filling = true;
        m_rows->setCurrentIndex(0);
        m_filling = false;
        showRows();
    } else if (m_chosen.empty() && !m_facts->tag->layers.empty()) {
        m_chosen = m_facts->tag->layers.front().name;
        showRows();
    }
    for (size_t i = 0; i < m_facts->history.size(); ++i) {
        if (m_facts->history[i].tag == alarm.tag && i < m_overTags->points().size())
            m_overTags->setCurrent(static_cast<int>(i));
    }
    if (alarm.rank)
        Q_EMIT placeRequested(Place(*alarm.rank));
}

} // namespace shardscope::ui
