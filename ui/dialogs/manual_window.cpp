// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/manual_window.h"

#include "core/report/documents/manual.h"
#include "ui/style/text_size.h"
#include "ui/text/text.h"
#include "ui/widgets/window_fit.h"

#include <QDesktopServices>
#include <QFontInfo>
#include <QLineEdit>
#include <QListWidget>
#include <QRegularExpression>
#include <QResizeEvent>
#include <QScrollBar>
#include <QShortcut>
#include <QSplitter>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextDocument>
#include <QTextTable>
#include <QUrl>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <utility>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr const char* kTopicProperty = "manualTopic";
constexpr auto kTopicRole = Qt::UserRole;
constexpr auto kLineRole = Qt::UserRole + 1; ///< of a place that was found
constexpr int kMostPlaces = 200;
constexpr int kPageMargin = 16;
constexpr int kBarRoom = 24; ///< for the bar at the side, which comes and goes with the length of the page
constexpr int kPlaceWidth = 90; ///< letters of it in the list

QString textOf(const ManualPage& page)
{
    return QString::fromUtf8(page.text.data(), static_cast<qsizetype>(page.text.size()));
}

/// Finds the pictures of the pages in the program.
class ManualText final : public QTextBrowser
{
public:
    using QTextBrowser::QTextBrowser;

    QVariant loadResource(int type, const QUrl& name) override
    {
        if (type != QTextDocument::ImageResource)
            return QTextBrowser::loadResource(type, name);
        const QImage image(u":/images/"_s % name.fileName());
        const int room = viewport()->width() - 2 * static_cast<int>(document()->documentMargin());
        return image.width() <= room ? image : image.scaledToWidth(room, Qt::SmoothTransformation);
    }
};

/// A line of Markdown without its marks: as it is read on the page.
QString plainLine(QString line)
{
    static const QRegularExpression kLink(u"!?\\[([^\\]]*)\\]\\([^)]*\\)"_s);
    line.replace(kLink, u"\\1"_s);
    static const QRegularExpression kMarks(u"[*`]+|^[#\\s]+|^\\s*-\\s"_s);
    return line.remove(kMarks).replace(u'|', u' ').simplified();
}

bool hasAll(const QString& text, const QStringList& words)
{
    return std::all_of(words.begin(), words.end(),
        [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

/// The part of a line around a word.
QString partAround(const QString& line, const QString& word)
{
    const qsizetype at = line.indexOf(word, 0, Qt::CaseInsensitive);
    if (line.size() <= kPlaceWidth)
        return line;
    const qsizetype begin = std::max<qsizetype>(0, at - kPlaceWidth / 3);
    return (begin > 0 ? u"…"_s : QString()) % line.mid(begin, kPlaceWidth).trimmed() % u'…';
}

/// Qt's headings are twice and one and a half times as large as the text.
void improveHeadings(QTextDocument& document)
{
    for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
        const int level = block.blockFormat().headingLevel();
        if (level == 0)
            continue;
        QTextCursor cursor(block);
        QTextBlockFormat format = block.blockFormat();
        format.setTopMargin(level == 1 ? 0 : 16);
        format.setBottomMargin(6);
        cursor.setBlockFormat(format);
        cursor.select(QTextCursor::BlockUnderCursor);
        QTextCharFormat text;
        text.setProperty(QTextFormat::FontSizeAdjustment, level == 1 ? 2 : 1);
        cursor.mergeCharFormat(text);
    }
}

/// Qt draws the tables of Markdown with double frames and no space.
void improveTables(QTextDocument& document, const QColor& line)
{
    for (QTextFrame* frame : document.rootFrame()->childFrames()) {
        auto* table = qobject_cast<QTextTable*>(frame);
        if (table == nullptr)
            continue;
        QTextTableFormat format = table->format();
        format.setBorderCollapse(true);
        format.setBorder(1);
        format.setBorderBrush(line);
        format.setCellSpacing(0);
        format.setCellPadding(5);
        format.setTopMargin(6);
        format.setBottomMargin(12);
        table->setFormat(format);
    }
}

/// The lines of code, or of a figure of letters, that begin with this one.
QList<QTextBlock> codeFrom(QTextBlock block)
{
    QList<QTextBlock> lines;
    for (; block.isValid() && block.blockFormat().nonBreakableLines(); block = block.next())
        lines.append(block);
    return lines;
}

double widthOf(const QList<QTextBlock>& code, const QFont& base, double points)
{
    double widest = 0;
    for (const QTextBlock& line : code) {
        QFont font = line.begin().fragment().charFormat().font().resolve(base);
        font.setPointSizeF(points);
        widest = std::max(widest, QFontMetricsF(font).horizontalAdvance(line.text()));
    }
    return widest;
}

/// Code and figures are not wrapped: those with a line that is too wide get smaller letters.
void fitCode(QTextDocument& document, int room)
{
    constexpr double kStep = 0.95; // letters are not as wide as their size says
    constexpr double kSmallest = 0.5;
    const QFont base = document.defaultFont();
    const double normal = QFontInfo(base).pointSizeF(); // it may be set in pixels
    for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
        const QList<QTextBlock> code = codeFrom(block);
        if (code.isEmpty())
            continue;
        block = code.last();
        double points = normal;
        while (points > normal * kSmallest && widthOf(code, base, points) > room)
            points *= kStep;
        if (points == normal)
            continue;
        QTextCharFormat smaller;
        smaller.setFontPointSize(points);
        QTextCursor cursor(code.first());
        cursor.setPosition(code.last().position() + code.last().length() - 1, QTextCursor::KeepAnchor);
        cursor.mergeCharFormat(smaller);
    }
}

} // namespace

void setManualTopic(QWidget* widget, const QString& topic)
{
    widget->setProperty(kTopicProperty, topic);
}

QString manualTopicOf(const QWidget* widget)
{
    for (; widget != nullptr; widget = widget->parentWidget()) {
        if (const QString topic = widget->property(kTopicProperty).toString(); !topic.isEmpty())
            return topic;
    }
    return {};
}

void addManualKey(QWidget* window, const QString& topic)
{
    setManualTopic(window, topic);
    auto* key = new QShortcut(QKeySequence(Qt::Key_F1), window);
    QObject::connect(
        key, &QShortcut::activated, window, [window, topic] { ManualWindow::open(window, topic); });
}

void ManualWindow::open(QWidget* window, const QString& topic)
{
    auto* manual = window->findChild<ManualWindow*>(QString(), Qt::FindDirectChildrenOnly);
    if (manual == nullptr) {
        manual = new ManualWindow(window);
        manual->setAttribute(Qt::WA_DeleteOnClose);
    }
    manual->showTopic(topic);
    manual->show();
    manual->raise();
    manual->activateWindow();
}

ManualWindow::ManualWindow(QWidget* parent)
    : QDialog(parent)
    , m_search(new QLineEdit(this))
    , m_topics(new QListWidget(this))
    , m_text(new ManualText(this))
{
    setObjectName(u"manualWindow"_s);
    setWindowTitle(tr("Manual"));
    resizeWithinScreen(this, QSize(940, 720) * std::max(textScale(), 1.0));
    m_topics->setObjectName(u"manualTopics"_s);
    m_topics->setAccessibleName(tr("Pages of the manual"));
    m_search->setObjectName(u"manualSearch"_s);
    m_search->setAccessibleName(tr("Search in the manual"));
    m_search->setPlaceholderText(tr("Search"));
    m_search->setClearButtonEnabled(true);
    connect(m_search, &QLineEdit::textChanged, this, &ManualWindow::fillList);
    connect(m_search, &QLineEdit::returnPressed, this, [this] { m_topics->setFocus(Qt::OtherFocusReason); });
    connect(new QShortcut(QKeySequence::Find, this), &QShortcut::activated, this, [this] {
        m_search->setFocus(Qt::ShortcutFocusReason);
        m_search->selectAll();
    });
    m_topics->setWordWrap(true);
    m_topics->setTextElideMode(Qt::ElideNone); // what does not fit is on the next line
    m_topics->setResizeMode(QListView::Adjust);
    m_topics->setSpacing(2);
    m_topics->setFrameShape(QFrame::NoFrame);
    m_text->setFrameShape(QFrame::NoFrame);
    m_text->setObjectName(u"manualText"_s);
    m_text->setAccessibleName(tr("Page of the manual"));
    m_text->setOpenLinks(false);
    auto* split = new QSplitter(this);
    auto* left = new QWidget(split);
    auto* column = new QVBoxLayout(left);
    column->setContentsMargins(8, 8, 8, 0);
    column->addWidget(m_search);
    column->addWidget(m_topics, 1);
    split->addWidget(left);
    split->addWidget(m_text);
    split->setStretchFactor(1, 1);
    const int list = static_cast<int>(std::lround(250 * std::max(textScale(), 1.0)));
    split->setSizes({list, std::max(width() - list, 1)});
    m_refit.setSingleShot(true);
    connect(&m_refit, &QTimer::timeout, this, [this] {
        const int at = m_text->verticalScrollBar()->value();
        showItem(m_topics->currentItem());
        m_text->verticalScrollBar()->setValue(at);
    });
    m_text->viewport()->installEventFilter(this);
    split->setChildrenCollapsible(false);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(split);
    connect(m_text, &QTextBrowser::anchorClicked, this, &ManualWindow::followLink);
    connect(m_topics, &QListWidget::currentItemChanged, this, &ManualWindow::showItem);
    fillList();
}

bool ManualWindow::eventFilter(QObject* watched, QEvent* event)
{
    constexpr int kPause = 80; // milliseconds; a drag of the frame has many sizes
    if (event->type() == QEvent::Show)
        m_refit.start(0);
    if (event->type() == QEvent::Resize) {
        const auto* resized = static_cast<const QResizeEvent*>(event);
        if (resized->size().width() != resized->oldSize().width())
            m_refit.start(isVisible() && resized->oldSize().isValid() ? kPause : 0);
    }
    return QDialog::eventFilter(watched, event);
}

void ManualWindow::fillList()
{
    const QSignalBlocker blocker(m_topics);
    const QStringList words = m_search->text().split(u' ', Qt::SkipEmptyParts);
    m_topics->clear();
    for (const ManualPage& page : manualPages()) {
        const auto add = [&](const QString& text, const QString& line) {
            auto* item = new QListWidgetItem(text, m_topics);
            item->setData(kTopicRole, toText(page.topic));
            item->setData(kLineRole, line);
        };
        if (words.isEmpty()) {
            add(toText(page.title), {});
            continue;
        }
        for (const QString& raw : textOf(page).split(u'\n')) {
            const QString line = plainLine(raw);
            if (m_topics->count() < kMostPlaces && hasAll(line, words))
                add(toText(page.title) % u'\n' % partAround(line, words.first()), line);
        }
    }
    if (m_topics->count() == 0) {
        auto* none = new QListWidgetItem(tr("No page has these words."), m_topics);
        none->setFlags(Qt::NoItemFlags);
    } else if (!words.isEmpty()) {
        m_topics->setCurrentRow(0);
        showItem(m_topics->currentItem());
    }
}

void ManualWindow::showItem(const QListWidgetItem* item)
{
    const ManualPage* page
        = item == nullptr ? nullptr : findManualPage(item->data(kTopicRole).toString().toStdString());
    if (page == nullptr)
        return;
    // One that is on screen is laid out again for each word of a table.
    auto* document = new QTextDocument(m_text); // which loads its pictures
    document->setDocumentMargin(kPageMargin);
    document->setDefaultFont(m_text->font());
    document->setMarkdown(textOf(*page));
    improveHeadings(*document);
    improveTables(*document, palette().color(QPalette::Mid));
    if (isVisible()) // before, its width is any
        fitCode(*document, m_text->width() - 2 * kPageMargin - kBarRoom);
    m_text->setExtraSelections({});
    m_text->setDocument(document);
    delete std::exchange(m_page, document);
    m_text->moveCursor(QTextCursor::Start);
    showPlace(item->data(kLineRole).toString());
}

/// Scrolls to the place of the search, and lights its words on the page.
void ManualWindow::showPlace(const QString& line)
{
    const QStringList words = m_search->text().split(u' ', Qt::SkipEmptyParts);
    QList<QTextEdit::ExtraSelection> lit;
    for (const QString& word : words) {
        QTextCursor at(m_text->document());
        while (lit.size() < kMostPlaces && !(at = m_text->document()->find(word, at)).isNull()) {
            QTextEdit::ExtraSelection one;
            one.cursor = at;
            one.format.setBackground(palette().brush(QPalette::Highlight));
            one.format.setForeground(palette().brush(QPalette::HighlightedText));
            lit.append(one);
        }
    }
    m_text->setExtraSelections(lit);
    for (QTextBlock block = m_text->document()->begin(); !line.isEmpty() && block.isValid();
         block = block.next()) {
        const QString text = block.text().simplified();
        if (text.isEmpty() || !hasAll(text, words.mid(0, 1))
            || (text != line && !text.contains(line) && !line.contains(text)))
            continue;
        m_text->setTextCursor(QTextCursor(block));
        m_text->ensureCursorVisible();
        return;
    }
}

void ManualWindow::showTopic(const QString& topic)
{
    m_search->clear(); // the list has all pages then
    for (int row = 0; row < m_topics->count(); ++row) {
        if (m_topics->item(row)->data(kTopicRole).toString() == topic)
            m_topics->setCurrentRow(row);
    }
    if (m_topics->currentRow() < 0)
        m_topics->setCurrentRow(0);
    m_text->setFocus();
}

QString ManualWindow::topic() const
{
    const QListWidgetItem* item = m_topics->currentItem();
    return item == nullptr ? QString() : item->data(kTopicRole).toString();
}

void ManualWindow::followLink(const QUrl& link)
{
    if (link.isRelative() && link.path().endsWith(u".md"_s))
        showTopic(link.fileName().chopped(3));
    else if (link.scheme() == u"https"_s)
        QDesktopServices::openUrl(link);
}

} // namespace shardscope::ui
