// SPDX-License-Identifier: Apache-2.0
#include "ui/pages/files_page.h"

#include "core/report/answers/files_report.h"
#include "core/report/text/csv_row.h"
#include "ui/controls/filter_bar.h"
#include "ui/controls/table_setup.h"
#include "ui/session/shell_words.h"
#include "ui/text/rank_list.h"
#include "ui/text/text.h"
#include "ui/widgets/focus_order.h"
#include "ui/widgets/path_field.h"

#include <QAction>
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

using namespace Qt::StringLiterals;
using namespace std::string_view_literals;

namespace shardscope::ui {

namespace {

/// The rows of the file table, as they are shown.
struct FileRows {
    CheckpointPtr checkpoint;
    std::vector<FileId> rows; ///< filtered and sorted
    io::Path path; ///< of the checkpoint, as it was opened
    ReportHead head; ///< without the checkpoint
};

/// Writes *.json as the answer of `shardscope files --json` with these files, all else as CSV with the same
/// columns (core/report/text/csv_row.h), with the head as comments. Returns why it could not be written;
/// empty if it was. For a worker.
QString writeFileRows(io::FileSystem& files, FileRows table, const SaveTarget& target)
{
    const Checkpoint& checkpoint = *table.checkpoint;
    table.head.about.push_back(identityOf(files, checkpoint, table.path));
    return saveText(target, [&](const TextSink& sink) {
        if (target.path.endsWith(u".json"_s, Qt::CaseInsensitive)) {
            JobContext job;
            return writeFilesJson(sink, {checkpoint, table.path.native(), {}, nullptr, &table.head},
                {.records = false, .only = table.rows}, files, job);
        }
        putHeadComments(sink, table.head);
        putCsvLine(sink, std::array{"path"sv, "role"sv, "rank"sv, "bytes"sv, "records"sv, "status"sv});
        for (const FileId id : table.rows) {
            const CheckpointFile& file = checkpoint.file(id);
            putCsvLine(sink,
                std::array{csvText(file.name), std::string(fileRoleName(file.role)),
                    file.rank ? rankText(*file.rank) : std::string(), csvNumber(file.identity.bytes),
                    csvNumber(file.recordCount), std::string(fileStatusName(file.status))});
        }
    });
}

} // namespace

PageEntry FilesPage::entry()
{
    return {PageId::Files, u"files"_s, u"actionFiles"_s, tr("Files"), tr("Fi&les"), u"file"_s, u"concepts"_s,
        &makePage<FilesPage>};
}

QString FilesPage::filterHint() const
{
    return tr("Filter files (Ctrl+F)");
}

FilesPage::FilesPage(const PageContext& context, QWidget* parent)
    : Page(context, parent)
    , m_fileModel(new FileTableModel(this))
    , m_recordModel(new RecordTableModel(this))
    , m_fileTable(new QTableView(this))
    , m_recordTable(new QTableView(this))
    , m_recordTitle(new QLabel(this))
    , m_hint(new QLabel(tr("Select a file to see its records."), this))
    , m_summary(new QLabel(this))
{
    setObjectName(u"filesPage"_s);
    prepareTable(m_fileTable, context.theme, u"fileTable"_s, tr("Files"));
    prepareTable(m_recordTable, context.theme, u"recordTable"_s, tr("Records of the selected file"));
    m_fileTable->setModel(m_fileModel);
    m_recordTable->setModel(m_recordModel);
    m_fileTable->setSortingEnabled(true);
    m_fileTable->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    fitFileColumns();
    fitColumns(m_recordTable,
        {u"archive/data/00000"_s, u"000,000,000,000"_s, u"000,000,000,000"_s, u"1,023.9 MiB"_s, u"00000000"_s,
            u"layers.00.attention.wq.weight"_s});
    m_hint->setObjectName(u"recordHint"_s);
    m_hint->setContentsMargins(12, 6, 12, 0);
    m_recordTitle->setObjectName(u"recordTitle"_s);
    m_recordTitle->setTextFormat(Qt::PlainText);
    m_recordTitle->setContentsMargins(12, 8, 12, 8);
    m_summary->setObjectName(u"fileSummary"_s);
    m_summary->setContentsMargins(12, 6, 12, 6);
    makeLayout();
    connectWidgets();
    handFocusTo(this, m_fileTable);
    loadRecords(kNoFile);
}

/// Names are whole; a table that is wider than its page scrolls.
void FilesPage::fitFileColumns()
{
    fitColumns(m_fileTable,
        {(m_longest.isEmpty() ? u"zero_pp_rank_00_mp_rank_00_optim_states.pt"_s : m_longest)
                % u"MM"_s, // an icon
            u"not yet read"_s, u"Optimizer states"_s, u"dp 000 · pp 00"_s, u"1,023.9 MiB"_s, u"000,000"_s});
}

void FilesPage::makeLayout()
{
    m_records = new QWidget(this);
    auto* lowerRows = new QVBoxLayout(m_records);
    lowerRows->setContentsMargins(0, 0, 0, 0);
    lowerRows->setSpacing(0);
    lowerRows->addWidget(m_recordTitle);
    lowerRows->addWidget(m_recordTable, 1);
    auto* splitter = new QSplitter(Qt::Vertical, this);
    splitter->setObjectName(u"filesSplitter"_s);
    splitter->addWidget(m_fileTable);
    splitter->addWidget(m_records);
    splitter->setChildrenCollapsible(false);
    splitter->setStretchFactor(0, 3);
    splitter->setStretchFactor(1, 2);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(makeFilterBar());
    rows->addWidget(splitter, 1);
    rows->addWidget(m_hint);
    rows->addWidget(m_summary);
}

void FilesPage::connectWidgets()
{
    connect(m_fileTable->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
        [this](const QModelIndex& now) {
            if (!m_following && now.isValid())
                m_context.selection.selectFile(m_fileModel->rowAt(now.row()));
        });
    connect(m_recordTable->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
        [this](const QModelIndex& now) {
            if (!m_following && now.isValid())
                onRecordChosen(now.row());
        });
    connect(m_fileModel, &QAbstractItemModel::modelReset, this, [this] {
        updateSummary();
        follow(m_context.selection.current());
    });
    connect(&m_context.selection, &Selection::changed, this, &FilesPage::follow);
    connect(&m_context.findings.marker(), &FindingMarker::changed, this, &FilesPage::showFindings);
    connect(
        addViewAction(m_fileTable, tr("Save Table…")), &QAction::triggered, this, &FilesPage::askWhereToSave);
}

void FilesPage::showFindings()
{
    m_fileModel->setFindings(m_context.findings.marker().of(m_checkpoint));
}

void FilesPage::showCheckpoint()
{
    m_following = true;
    m_fileModel->setCheckpoint(m_checkpoint);
    m_context.findings.marker().follow(m_checkpoint);
    showFindings();
    m_longest.clear();
    if (m_checkpoint && !m_checkpoint->files.empty())
        m_longest = toText(std::ranges::max(m_checkpoint->files, {}, [](const CheckpointFile& file) {
            return file.name.size();
        }).name);
    fitFileColumns();
    m_following = false;
    m_shownFile = kNoFile;
    loadRecords(kNoFile);
    updateSummary();
}

void FilesPage::setFilter(const QString& text)
{
    m_following = true;
    m_filter = text;
    m_fileModel->setFilter(text);
    m_following = false;
    follow(m_context.selection.current());
}

void FilesPage::askWhereToSave()
{
    if (!m_checkpoint)
        return;
    const QString name
        = m_checkpoint->tag.empty() ? tr("files") : QString(toText(m_checkpoint->tag) % u"-files"_s);
    askForPath(this,
        {.kind = PathQuestion::Kind::NewFile,
            .name = u"saveFilesDialog"_s,
            .title = tr("Save the Rows of the Table"),
            .filters = tr("CSV table (*.csv);;JSON answer (*.json)"),
            .suggested = name % u".csv"_s},
        [this](const QString& path) { saveRows(path); });
}

void FilesPage::saveRows(const QString& path)
{
    if (!m_checkpoint)
        return;
    ReportHead head = rowsHead(entry().name, m_filter, sourceWords(*m_checkpoint, m_place));
    m_saver.save(
        [&files = m_context.session.files(),
            table = FileRows{m_checkpoint, m_fileModel->rows(), m_place.path, std::move(head)},
            target = SaveTarget{path, readAt(m_place)}] { return writeFileRows(files, table, target); },
        tr("Saved the rows to %1.").arg(path));
}

void FilesPage::updateSummary()
{
    if (!m_checkpoint) {
        m_summary->clear();
        return;
    }
    const FileCounts all = countFiles(*m_checkpoint);
    const FileCounts shown = m_fileModel->shown();
    const bool isWhole = shown.count == all.count;
    QString text
        = isWhole ? filesText(all.count) : tr("%1 of %2").arg(countText(shown.count), filesText(all.count));
    text += u" · "_s % bytesText(shown.bytes);
    const auto countOf = [this](FileStatus status) {
        return static_cast<uint64_t>(std::ranges::count_if(
            m_fileModel->rows(), [&](FileId id) { return m_checkpoint->file(id).status == status; }));
    };
    if (const uint64_t missing = countOf(FileStatus::Missing); missing > 0)
        text += u" · "_s % tr("%1 missing").arg(countText(missing));
    if (const uint64_t foreign = countOf(FileStatus::Foreign); foreign > 0)
        text += u" · "_s % tr("%1 not of this checkpoint").arg(countText(foreign));
    m_summary->setText(text);
    m_summary->setToolTip(exactBytesText(shown.bytes));
    FilterView view{.words = FilterText::split(m_filter), .problem = m_fileModel->problem(), .count = {}};
    if (!view.words.isEmpty() && !view.problem)
        view.count = tr("%1 of %2 · %3")
                         .arg(countText(static_cast<uint64_t>(m_fileModel->rowCount())),
                             countText(m_checkpoint->files.size()), bytesText(shown.bytes));
    tellFilter(view);
}

void FilesPage::follow(const SelectedThing& thing)
{
    const int row = thing.file == kNoFile ? -1 : m_fileModel->rowOf(thing.file);
    m_following = true;
    const bool same = m_fileTable->currentIndex().isValid() && m_fileTable->currentIndex().row() == row;
    if (!same) {
        m_fileTable->setCurrentIndex(row < 0 ? QModelIndex() : m_fileModel->index(row, 0));
        if (row >= 0)
            m_fileTable->scrollTo(m_fileModel->index(row, 0));
    }
    m_following = false;
    if (thing.file != m_shownFile && thing.file != kNoFile)
        loadRecords(thing.file);
    else
        selectRecordOf(thing);
}

void FilesPage::loadRecords(FileId file)
{
    m_shownFile = file;
    m_recordModel->setList({});
    const bool hasFile = file != kNoFile && m_checkpoint;
    m_records->setVisible(hasFile); // without a file, the list of files has the room
    m_hint->setVisible(!hasFile);
    if (!hasFile) {
        m_loader.cancel();
        return;
    }
    m_recordTitle->setText(tr("Reading the records of %1…").arg(toText(m_checkpoint->file(file).name)));
    m_loader.run<RecordList>(
        [&files = m_context.session.files(), checkpoint = m_checkpoint, file](
            const std::stop_token& token, const std::function<void(RecordList)>& deliver) {
            deliver(listRecords(files, *checkpoint, file, token));
        },
        [this](RecordList list) { showRecords(std::move(list)); });
}

void FilesPage::showRecords(RecordList list)
{
    const CheckpointFile& file = m_checkpoint->file(list.file);
    if (!list.problem.empty())
        m_recordTitle->setText(tr("%1 · no records: %2").arg(toText(file.name), toText(list.problem)));
    else
        m_recordTitle->setText(tr("%1 · %2 records").arg(toText(file.name), countText(list.lines.size())));
    m_following = true;
    m_recordModel->setList(std::move(list));
    m_following = false;
    selectRecordOf(m_context.selection.current());
}

void FilesPage::selectRecordOf(const SelectedThing& thing)
{
    if (!thing.record || thing.file != m_shownFile)
        return;
    const int row = m_recordModel->rowOf(*thing.record);
    if (row < 0 || (m_recordTable->currentIndex().isValid() && m_recordTable->currentIndex().row() == row))
        return;
    m_following = true;
    m_recordTable->setCurrentIndex(m_recordModel->index(row, 0));
    m_recordTable->scrollTo(m_recordModel->index(row, 0), QAbstractItemView::PositionAtCenter);
    m_following = false;
}

void FilesPage::onRecordChosen(int row)
{
    const uint32_t record = m_recordModel->rowAt(row);
    const RecordLine& line = m_recordModel->list().lines[record];
    SelectedThing thing;
    thing.file = m_shownFile;
    thing.record = record;
    thing.byte = line.record.payloadOffset;
    thing.param = line.param;
    thing.unit = line.unit;
    const CheckpointFile& file = m_checkpoint->file(m_shownFile);
    if (line.unit != kNoUnit && file.rank)
        thing.rank = rankNumber(*m_checkpoint, *file.rank);
    m_context.selection.select(std::move(thing));
}

} // namespace shardscope::ui
