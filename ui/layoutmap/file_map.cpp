// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/file_map.h"

#include "core/base/text.h"
#include "ui/text/rank_list.h"
#include "ui/text/text.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>
#include <cmath>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr int kMargin = 8;
constexpr uint64_t kFewestBytes = 64; ///< in the width

} // namespace

FileMap::FileMap(const Theme& theme, QWidget* parent)
    : QAbstractScrollArea(parent)
    , m_theme(theme)
{
    setObjectName(u"fileMap"_s);
    setAccessibleName(tr("Map of files"));
    setFrameShape(NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setMouseTracking(true);
    connect(&theme, &Theme::changed, this, [this] { viewport()->update(); });
}

void FileMap::setCheckpoint(const CheckpointPtr& checkpoint)
{
    m_checkpoint = checkpoint;
    m_extents.reset();
    m_collector.cancel();
    m_rows.clear();
    m_current = 0;
    measure();
    if (isVisible())
        collect();
}

void FileMap::collect()
{
    if (!m_checkpoint || m_extents || m_collector.isRunning())
        return;
    for (uint32_t i = 0; i < m_checkpoint->files.size(); ++i)
        m_rows.push_back(FileId{i});
    std::sort(m_rows.begin(), m_rows.end(), [this](FileId a, FileId b) {
        return compareNaturally(m_checkpoint->file(a).name, m_checkpoint->file(b).name) < 0;
    });
    measure();
    m_collector.run<std::shared_ptr<const FileExtents>>(
        [checkpoint = m_checkpoint](const std::stop_token& token,
            const std::function<void(std::shared_ptr<const FileExtents>)>& deliver) {
            deliver(std::make_shared<const FileExtents>(*checkpoint, token));
        },
        [this](std::shared_ptr<const FileExtents> extents) {
            m_extents = std::move(extents);
            viewport()->update();
        });
}

void FileMap::measure()
{
    m_longest = 0;
    for (const FileId file : m_rows)
        m_longest = std::max(m_longest, m_checkpoint->file(file).identity.bytes);
    m_shown = m_longest;
    m_first = 0;
    measureLabels();
    const int rows = static_cast<int>(m_rows.size()) * rowHeight();
    const int room = viewport()->height() - legendHeight();
    verticalScrollBar()->setRange(0, std::max(0, rows - room));
    verticalScrollBar()->setPageStep(std::max(1, room));
    verticalScrollBar()->setSingleStep(rowHeight());
    viewport()->update();
}

void FileMap::measureLabels()
{
    constexpr int kWidest = 340;
    size_t longest = 0;
    for (const FileId file : m_rows)
        longest = std::max(longest, m_checkpoint->file(file).name.size());
    m_labelWidth
        = std::min({static_cast<int>(std::min<size_t>(longest, kWidest)) * fontMetrics().averageCharWidth()
                + 2 * kMargin,
            kWidest, viewport()->width() / 3});
}

void FileMap::setSelection(Selection* selection)
{
    m_selection = selection;
    if (selection != nullptr) {
        connect(selection, &Selection::changed, this, &FileMap::follow);
        connect(this, &FileMap::fileActivated, selection,
            [selection] { Q_EMIT selection->pageRequested(PageId::Files); });
    }
}

void FileMap::follow(const SelectedThing& thing)
{
    const auto row = std::find(m_rows.begin(), m_rows.end(), thing.file);
    if (row == m_rows.end())
        return;
    m_current = static_cast<size_t>(row - m_rows.begin());
    viewport()->update();
}

int FileMap::rowHeight() const
{
    return fontMetrics().height() + 8;
}

int FileMap::legendHeight() const
{
    return fontMetrics().height() + 12;
}

QRect FileMap::barRect(size_t row) const
{
    const int left = m_labelWidth + kMargin;
    return {left, static_cast<int>(row) * rowHeight() - verticalScrollBar()->value() + 3,
        std::max(1, viewport()->width() - left - kMargin), rowHeight() - 6};
}

double FileMap::toX(const QRect& bar, uint64_t byte) const
{
    const double bytes = static_cast<double>(byte) - static_cast<double>(m_first);
    return bar.left() + bytes * bar.width() / static_cast<double>(std::max<uint64_t>(m_shown, 1));
}

std::optional<FileMap::Place> FileMap::placeAt(const QPoint& position) const
{
    if (position.y() >= viewport()->height() - legendHeight() || m_shown == 0)
        return std::nullopt;
    const int row = (position.y() + verticalScrollBar()->value()) / rowHeight();
    if (row < 0 || static_cast<size_t>(row) >= m_rows.size())
        return std::nullopt;
    const QRect bar = barRect(static_cast<size_t>(row));
    const double share = std::clamp((position.x() - bar.left()) / static_cast<double>(bar.width()), 0.0, 1.0);
    return Place{m_rows[static_cast<size_t>(row)],
        m_first + static_cast<uint64_t>(share * static_cast<double>(m_shown))};
}

QString FileMap::textAt(FileId file, uint64_t byte) const
{
    const CheckpointFile& of = m_checkpoint->file(file);
    if (of.status == FileStatus::Missing)
        return tr("The file is missing.");
    const auto extents = m_extents ? m_extents->of(file) : std::span<const FileExtent>();
    const size_t at = FileExtents::firstAfter(extents, byte);
    if (at < extents.size() && extents[at].begin <= byte) {
        const FileExtent& extent = extents[at];
        QString what = toText(m_extents->states()[extent.state]);
        if (extent.param != kNoParam)
            what = tr("%1 of %2").arg(what, toText(m_checkpoint->params[index(extent.param)].name));
        if (extent.unit != kNoUnit && extent.param == kNoParam) {
            const FlatUnit& unit = m_checkpoint->units[index(extent.unit)];
            what = tr("%1 of %2 on %3")
                       .arg(what, unitText(unit),
                           rankLabel(*m_checkpoint, m_checkpoint->rankOf(unit, extent.share)));
        }
        const QString range
            = tr("bytes %1 to %2, %3")
                  .arg(countText(extent.begin), countText(extent.end), bytesText(extent.end - extent.begin));
        return what % u": "_s % range;
    }
    if (byte >= of.identity.bytes)
        return tr("After the end of the file (%1)").arg(bytesText(of.identity.bytes));
    const uint64_t begin = at == 0 ? 0 : extents[at - 1].end;
    const uint64_t end = at < extents.size() ? extents[at].begin : of.identity.bytes;
    return m_extents ? tr("No state uses bytes %1 to %2, %3: pickle, directory, alignment or another record")
                           .arg(countText(begin), countText(end), bytesText(end - std::min(begin, end)))
                     : tr("Reading places…");
}

QString FileMap::tooltipAt(const Place& place) const
{
    const CheckpointFile& file = m_checkpoint->file(place.file);
    const QString text = toText(file.name) % u'\n' % textAt(place.file, place.byte);
    return m_extents ? QString(text % u'\n'
               % tr("%1 of %2 hold states")
                     .arg(bytesText(m_extents->covered(place.file)), bytesText(file.identity.bytes)))
                     : text;
}

void FileMap::zoom(double factor, int anchor)
{
    if (m_longest == 0)
        return;
    const QRect bar = barRect(0);
    const double share = std::clamp((anchor - bar.left()) / static_cast<double>(bar.width()), 0.0, 1.0);
    const double at = static_cast<double>(m_first) + share * static_cast<double>(m_shown);
    const double shown = std::clamp(static_cast<double>(m_shown) * factor,
        static_cast<double>(std::min(kFewestBytes, m_longest)), static_cast<double>(m_longest));
    m_shown = static_cast<uint64_t>(shown);
    const double first = std::clamp(at - share * shown, 0.0, static_cast<double>(m_longest - m_shown));
    m_first = static_cast<uint64_t>(first);
    viewport()->update();
}

void FileMap::moveRow(int rows)
{
    if (m_rows.empty())
        return;
    const auto last = static_cast<int64_t>(m_rows.size()) - 1;
    m_current = static_cast<size_t>(std::clamp<int64_t>(static_cast<int64_t>(m_current) + rows, 0, last));
    const int top = static_cast<int>(m_current) * rowHeight();
    const int room = viewport()->height() - legendHeight();
    QScrollBar* bar = verticalScrollBar();
    if (top < bar->value())
        bar->setValue(top);
    else if (top + rowHeight() > bar->value() + room)
        bar->setValue(top + rowHeight() - room);
    select({m_rows[m_current], m_first});
}

void FileMap::select(const Place& place)
{
    const auto row = std::find(m_rows.begin(), m_rows.end(), place.file);
    m_current = static_cast<size_t>(row - m_rows.begin());
    setAccessibleDescription(
        toText(m_checkpoint->file(place.file).name) % u": "_s % textAt(place.file, place.byte));
    if (m_selection)
        m_selection->selectFile(place.file, {}, place.byte);
    viewport()->update();
}

bool FileMap::viewportEvent(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const auto place = placeAt(help->pos());
        QToolTip::showText(help->globalPos(), place ? tooltipAt(*place) : QString(), viewport());
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void FileMap::showEvent(QShowEvent* event)
{
    QAbstractScrollArea::showEvent(event);
    collect();
}

void FileMap::resizeEvent(QResizeEvent* event)
{
    QAbstractScrollArea::resizeEvent(event);
    const uint64_t shown = m_shown;
    const uint64_t first = m_first;
    measure();
    if (shown != 0) {
        m_shown = shown;
        m_first = first;
    }
}

void FileMap::keyPressEvent(QKeyEvent* event)
{
    const auto step = static_cast<int64_t>(m_shown / 8);
    const int middle = viewport()->width() / 2;
    const auto shift = [&](int64_t bytes) {
        const int64_t most = static_cast<int64_t>(m_longest - m_shown);
        m_first = static_cast<uint64_t>(std::clamp<int64_t>(static_cast<int64_t>(m_first) + bytes, 0, most));
        viewport()->update();
    };
    switch (event->key()) {
    case Qt::Key_Up:
        return moveRow(-1);
    case Qt::Key_Down:
        return moveRow(1);
    case Qt::Key_PageUp:
        return moveRow(-verticalScrollBar()->pageStep() / rowHeight());
    case Qt::Key_PageDown:
        return moveRow(verticalScrollBar()->pageStep() / rowHeight());
    case Qt::Key_Left:
    case Qt::Key_A:
        return shift(-step);
    case Qt::Key_Right:
    case Qt::Key_D:
        return shift(step);
    case Qt::Key_Plus:
    case Qt::Key_W:
        return zoom(0.5, middle);
    case Qt::Key_Minus:
    case Qt::Key_S:
        return zoom(2, middle);
    case Qt::Key_0:
        return measure();
    case Qt::Key_U:
        Q_EMIT switchWanted();
        return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        Q_EMIT fileActivated();
        return;
    default:
        QAbstractScrollArea::keyPressEvent(event);
    }
}

void FileMap::mousePressEvent(QMouseEvent* event)
{
    if (const auto place = placeAt(event->pos()); place && event->button() == Qt::LeftButton)
        select(*place);
}

void FileMap::mouseMoveEvent(QMouseEvent* event)
{
    const auto place = placeAt(event->pos());
    if (m_selection)
        m_selection->setHoverText(place ? QString(toText(m_checkpoint->file(place->file).name) % u" · "_s
                                      % textAt(place->file, place->byte))
                                        : QString());
}

void FileMap::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (placeAt(event->pos()))
        Q_EMIT fileActivated();
}

void FileMap::wheelEvent(QWheelEvent* event)
{
    if ((event->modifiers() & Qt::ControlModifier) == 0)
        return QAbstractScrollArea::wheelEvent(event);
    zoom(std::pow(0.5, event->angleDelta().y() / 240.0), static_cast<int>(event->position().x()));
    event->accept();
}

} // namespace shardscope::ui
