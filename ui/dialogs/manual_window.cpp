// SPDX-License-Identifier: Apache-2.0
#include "ui/dialogs/manual_window.h"

#include "core/report/documents/manual.h"
#include "ui/text/text.h"
#include "ui/widgets/window_fit.h"

#include <QDesktopServices>
#include <QListWidget>
#include <QShortcut>
#include <QSplitter>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextTable>
#include <QUrl>
#include <QVBoxLayout>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr const char* kTopicProperty = "manualTopic";
constexpr auto kTopicRole = Qt::UserRole;

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
    , m_topics(new QListWidget(this))
    , m_text(new QTextBrowser(this))
{
    setObjectName(u"manualWindow"_s);
    setWindowTitle(tr("Manual"));
    resizeWithinScreen(this, {940, 720});
    m_topics->setObjectName(u"manualTopics"_s);
    m_topics->setAccessibleName(tr("Pages of the manual"));
    for (const ManualPage& page : manualPages()) {
        auto* item = new QListWidgetItem(toText(page.title), m_topics);
        item->setData(kTopicRole, toText(page.topic));
    }
    m_topics->setSpacing(2);
    m_topics->setFrameShape(QFrame::NoFrame);
    m_text->setFrameShape(QFrame::NoFrame);
    m_text->setObjectName(u"manualText"_s);
    m_text->setAccessibleName(tr("Page of the manual"));
    m_text->setOpenLinks(false);
    m_text->document()->setDocumentMargin(16);
    auto* split = new QSplitter(this);
    split->addWidget(m_topics);
    split->addWidget(m_text);
    split->setStretchFactor(1, 1);
    split->setSizes({250, 690});
    split->setChildrenCollapsible(false);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(split);
    connect(m_text, &QTextBrowser::anchorClicked, this, &ManualWindow::followLink);
    connect(m_topics, &QListWidget::currentItemChanged, this, [this](const QListWidgetItem* item) {
        if (item == nullptr)
            return;
        const ManualPage* page = findManualPage(item->data(kTopicRole).toString().toStdString());
        if (page == nullptr)
            return;
        m_text->setMarkdown(QString::fromUtf8(page->text.data(), static_cast<qsizetype>(page->text.size())));
        improveHeadings(*m_text->document());
        improveTables(*m_text->document(), palette().color(QPalette::Mid));
        m_text->moveCursor(QTextCursor::Start);
    });
}

void ManualWindow::showTopic(const QString& topic)
{
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
