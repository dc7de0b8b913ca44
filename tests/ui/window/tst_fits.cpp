// SPDX-License-Identifier: Apache-2.0
// The window on small screens and with large text: everything that can be used is in reach.
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/controls/cell_delegate.h"
#include "ui/dialogs/manual_window.h"
#include "ui/dialogs/settings_dialog.h"
#include "ui/shell/page_tab_bar.h"
#include "ui/style/app_style.h"
#include "ui/style/text_size.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/message_bar.h"

#include <QAbstractButton>
#include <QAbstractScrollArea>
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QHeaderView>
#include <QHelpEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPainter>
#include <QScrollArea>
#include <QScrollBar>
#include <QStandardItemModel>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>
#include <QTextBlock>
#include <QTextBrowser>
#include <QToolTip>
#include <QTreeView>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

constexpr QSize kSmall(900, 600);
constexpr QSize kScaled(1366 * 2 / 3, 768 * 2 / 3 - 48); ///< 1366 × 768 at 150 %, without a title bar
const QString kPages = u"pageTabsScroll"_s; ///< scrolls pages that are larger than the window
constexpr int kThreeSteps = 3; ///< of larger text
constexpr int kAll = 100; ///< letters of a title

/// Whether a person can bring it into view by scrolling.
bool isScrolled(const QWidget* widget)
{
    for (const QWidget* at = widget->parentWidget(); at != nullptr; at = at->parentWidget())
        if (qobject_cast<const QAbstractScrollArea*>(at) != nullptr && at->objectName() != kPages)
            return true;
    return false;
}

QString nameOf(const QWidget* widget)
{
    QStringList names;
    for (const QWidget* at = widget; at != nullptr && !at->isWindow(); at = at->parentWidget())
        names.prepend(at->objectName().isEmpty() ? QString::fromLatin1(at->metaObject()->className())
                                                 : at->objectName());
    return names.join(u'/');
}

/// Buttons, labels and fields of the window that are cut off by it or by a parent.
QStringList cutOff(const QWidget& window)
{
    QStringList out;
    for (const QWidget* widget : window.findChildren<QWidget*>()) {
        const bool counts = qobject_cast<const QAbstractButton*>(widget) != nullptr
            || qobject_cast<const QLabel*>(widget) != nullptr
            || qobject_cast<const QLineEdit*>(widget) != nullptr
            || qobject_cast<const QComboBox*>(widget) != nullptr;
        if (!counts || !widget->isVisible() || widget->window() != &window || isScrolled(widget))
            continue;
        QRect place(widget->mapTo(&window, QPoint()), widget->size());
        for (const QWidget* at = widget->parentWidget(); at != nullptr; at = at->parentWidget()) {
            const QRect room(at->isWindow() ? QPoint() : at->mapTo(&window, QPoint()), at->size());
            if (at->objectName() == "qt_scrollarea_viewport"_L1)
                continue; // reported for all of the page
            if (!room.contains(place)) {
                out.append(u"%1 at %2,%3 %4x%5"_s.arg(nameOf(widget))
                               .arg(place.x())
                               .arg(place.y())
                               .arg(place.width())
                               .arg(place.height()));
                break;
            }
            if (at->isWindow())
                break;
        }
    }
    return out;
}

/// For people to look at.
void keepPicture(MainWindow& window, const QString& page)
{
    const QString folder = QCoreApplication::applicationDirPath() + u"/screenshots"_s;
    QDir().mkpath(folder);
    const QString name = QString::fromLatin1(QTest::currentDataTag()).replace(u", "_s, u"-"_s);
    window.grab().save(folder % u"/fits-"_s % name % u'-' % page % u".png"_s);
}

int textSize(int steps)
{
    int percent = 100;
    for (int i = 0; i < steps; ++i)
        percent = nextTextSize(percent, 1);
    return percent;
}

} // namespace

class TestFits : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QApplication::setStyle(new AppStyle); }
    void cleanup()
    {
        applyTextSize(100);
        QApplication::setLayoutDirection(Qt::LeftToRight);
    }

    void everyPageFits_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<QSize>("size");
        QTest::addColumn<int>("steps");
        QTest::addColumn<bool>("isMirrored");
        for (const char* sample :
            {"zero3-w4", "pipeline-w4", "slices-w4", "experts-w4", "zero2-universal-w2", "stage0-bf16"}) {
            QTest::addRow("%s", sample) << samplePath(sample) << kSmall << 0 << false;
            QTest::addRow("%s, larger text", sample) << samplePath(sample) << kSmall << 3 << false;
            QTest::addRow("%s, at 150 %%", sample) << samplePath(sample) << kScaled << 0 << false;
            QTest::addRow("%s, right to left", sample) << samplePath(sample) << kSmall << 3 << true;
        }
    }

    void everyPageFits()
    {
        QFETCH(QString, sample);
        QFETCH(QSize, size);
        QFETCH(int, steps);
        QFETCH(bool, isMirrored);
        QApplication::setLayoutDirection(isMirrored ? Qt::RightToLeft : Qt::LeftToRight);
        WindowFixture ui;
        MainWindow& window = ui.window();
        applyTextSize(textSize(steps));
        window.resize(size);
        QVERIFY(ui.open(sample));
        window.selection().selectParam(ParamId{0}); // so that Details and the tensor page show something
        QStringList problems;
        for (const PageEntry& page : pageList()) {
            window.showPage(page.id);
            QVERIFY(ui.settle());
            const QSize least = window.minimumSizeHint();
            if (least.width() > size.width() || least.height() > size.height())
                problems.append(u"%1: needs %2x%3"_s.arg(page.name).arg(least.width()).arg(least.height()));
            const auto* scroll = ui.find<QScrollArea>(qPrintable(kPages));
            if (scroll->horizontalScrollBar()->maximum() > 0 || scroll->verticalScrollBar()->maximum() > 0)
                problems.append(u"%1: is scrolled by %2, %3"_s.arg(page.name)
                                    .arg(scroll->horizontalScrollBar()->maximum())
                                    .arg(scroll->verticalScrollBar()->maximum()));
            for (const QString& each : cutOff(window))
                problems.append(page.name % u": "_s % each);
            keepPicture(window, page.name);
        }
        QVERIFY2(problems.isEmpty(), qPrintable(problems.join(u'\n')));
        QCOMPARE(window.size(), size);
    }

    void everyTabIsSeen_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::addColumn<int>("steps");
        QTest::addColumn<bool>("isMirrored");
        QTest::addColumn<int>("letters"); // of all titles, at least
        QTest::addRow("1366") << QSize(1366, 768) << 0 << false << kAll;
        QTest::addRow("1366, larger text") << QSize(1366, 768) << 3 << false << 4;
        QTest::addRow("1366, right to left") << QSize(1366, 768) << 0 << true << kAll;
        QTest::addRow("900") << kSmall << 0 << false << 0;
        QTest::addRow("900, larger text") << kSmall << 2 << false << 0;
        QTest::addRow("at 150 %%") << kScaled << 0 << false << 0;
    }

    /// With the docks that the window begins with.
    void everyTabIsSeen()
    {
        QFETCH(QSize, size);
        QFETCH(int, steps);
        QFETCH(bool, isMirrored);
        QFETCH(int, letters);
        QApplication::setLayoutDirection(isMirrored ? Qt::RightToLeft : Qt::LeftToRight);
        WindowFixture ui;
        applyTextSize(textSize(steps));
        ui.window().resize(size);
        QVERIFY(ui.open(samplePath("zero3-w4")));
        auto* bar = static_cast<PageTabBar*>(ui.find<QTabWidget>("pageTabs")->tabBar());
        for (int front = 0; front < bar->count(); ++front) {
            QTest::keyClick(&ui.window(), static_cast<Qt::Key>(Qt::Key_1 + front), Qt::ControlModifier);
            QTRY_COMPARE(bar->currentIndex(), front);
            QVERIFY(ui.settle());
            for (int tab = 0; tab < bar->count(); ++tab) {
                const QRect place = bar->tabRect(tab);
                QVERIFY2(bar->rect().contains(place), qPrintable(bar->tabText(tab)));
                const QString title = bar->shownTitle(tab);
                QVERIFY2(place.width() >= bar->fontMetrics().horizontalAdvance(title) + 8, qPrintable(title));
                const qsizetype least = tab == front ? kAll : letters;
                QVERIFY2(title == bar->tabText(tab) || title.size() >= least, qPrintable(title));
                QVERIFY2(letters > 0 || tab == front || title.isEmpty(), qPrintable(title));
            }
        }
        // A tab without its whole title has it as tool tip.
        const QPoint at = bar->tabRect(1).center();
        QHelpEvent help(QEvent::ToolTip, at, bar->mapToGlobal(at));
        QCoreApplication::sendEvent(bar, &help);
        QCOMPARE(QToolTip::text(), bar->shownTitle(1) == bar->tabText(1) ? QString() : bar->tabText(1));
        QToolTip::hideText();
    }

    /// Maps, charts and names are read from the left in every language.
    void picturesAreNotMirrored_data()
    {
        QTest::addColumn<QString>("page");
        QTest::addColumn<QStringList>("names");
        QTest::addRow("map") << u"map"_s
                             << QStringList{u"mapCanvas"_s, u"rankGutter"_s, u"mapRankTotals"_s,
                                    u"mapRuler"_s, u"mapLayerStrip"_s, u"mapLegend"_s};
        QTest::addRow("health") << u"health"_s << QStringList{u"healthOverLayers"_s, u"healthOverTags"_s};
    }

    void picturesAreNotMirrored()
    {
        QFETCH(QString, page);
        QFETCH(QStringList, names);
        const auto pictures = [&](Qt::LayoutDirection direction) {
            QApplication::setLayoutDirection(direction);
            WindowFixture ui;
            ui.window().showPage(page);
            QList<QImage> out;
            if (!ui.open(samplePath("zero3-w4")))
                return out;
            ui.window().showPage(page);
            if (!ui.settle())
                return out;
            const auto* shown = ui.find<QTabWidget>("pageTabs")->currentWidget();
            for (const QString& name : names)
                if (auto* widget = shown->findChild<QWidget*>(name)) {
                    if (page != "map"_L1)
                        widget->setFixedSize(300, 160);
                    out.append(widget->grab().toImage());
                }
            return out;
        };
        const QList<QImage> left = pictures(Qt::LeftToRight);
        QCOMPARE(left.size(), names.size());
        const QList<QImage> right = pictures(Qt::RightToLeft);
        QCOMPARE(right.size(), names.size());
        for (qsizetype i = 0; i < names.size(); ++i)
            QVERIFY2(left[i] == right[i], qPrintable(names[i]));
    }

    void theLeftCheckpointIsAtTheLeft()
    {
        QApplication::setLayoutDirection(Qt::RightToLeft);
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().showPage(PageId::Compare);
        ui.window().compareWith(samplePath("zero2-w2"), true);
        QVERIFY(ui.settle());
        const auto leftEdge
            = [&](const char* name) { return ui.find<QWidget>(name)->mapTo(&ui.window(), QPoint()).x(); };
        QVERIFY(leftEdge("compareMapLeft") < leftEdge("compareMapRight"));
    }

    /// In cells the text ends before the icon.
    void textIsNotPaintedOverIcons()
    {
        Theme theme;
        const CellDelegate delegate(theme);
        QPixmap red(16, 16);
        red.fill(Qt::red);
        for (const auto direction : {Qt::LeftToRight, Qt::RightToLeft}) {
            QTreeView view;
            view.setLayoutDirection(direction);
            const auto redPixels = [&](const QString& text) {
                QStandardItemModel model;
                auto* item = new QStandardItem(QIcon(red), text);
                model.appendRow(item);
                QStyleOptionViewItem option;
                option.initFrom(&view);
                option.widget = &view;
                option.rect = QRect(0, 0, 300, 24);
                option.decorationSize = QSize(16, 16);
                option.features = QStyleOptionViewItem::HasDecoration;
                QImage image(300, 24, QImage::Format_RGB32);
                image.fill(Qt::white);
                QPainter painter(&image);
                painter.setLayoutDirection(direction);
                delegate.paint(&painter, option, model.index(0, 0));
                painter.end();
                int count = 0;
                for (int y = 0; y < image.height(); ++y)
                    for (int x = 0; x < image.width(); ++x)
                        count += image.pixelColor(x, y) == Qt::red ? 1 : 0;
                return count;
            };
            QCOMPARE(redPixels(QString()), 256);
            QCOMPARE(redPixels(u"MMMMMMMMMM"_s), 256);
        }
    }

    /// Nothing is shortened where there is room, at two sizes of text.
    void namesAndNumbersAreWhole()
    {
        for (const int steps : {0, 3}) {
            applyTextSize(textSize(steps));
            WindowFixture ui;
            ui.window().resize(kSmall);
            QVERIFY(ui.open(samplePath("zero3-w4")));
            QCoreApplication::processEvents();
            const auto* title = ui.find<ElidedLabel>("statusTitle");
            QVERIFY2(title->width() >= title->fontMetrics().horizontalAdvance(title->text()),
                qPrintable(title->text()));
            const auto* tree = ui.find<QTreeView>("explorerTree");
            if (!tree->isColumnHidden(1))
                QVERIFY(tree->columnWidth(1) > tree->fontMetrics().horizontalAdvance(u"1,023.9 MiB"_s));
            QVERIFY(tree->columnWidth(0) > tree->fontMetrics().averageCharWidth() * 12);
            const auto* files = ui.find<QTableView>("fileTable");
            for (const CheckpointFile& file : ui.checkpoint()->files)
                QVERIFY(files->columnWidth(0)
                    > files->fontMetrics().horizontalAdvance(QString::fromStdString(file.name)));
            QVERIFY(files->horizontalHeader()->height() >= files->fontMetrics().height());
        }
    }

    /// Also where the page is narrow.
    void findingsAreReadable()
    {
        for (const QSize size : {kSmall, QSize(1366, 768), QSize(1920, 1080)}) {
            WindowFixture ui;
            ui.window().resize(size);
            QVERIFY(ui.open(samplePath("zero3-w4")));
            ui.window().showPage(PageId::Findings);
            QVERIFY(ui.settle());
            QTest::qWait(20);
            auto* tree = ui.find<QTreeView>("findingTree");
            const int letter = tree->fontMetrics().averageCharWidth();
            QVERIFY2(tree->columnWidth(0) > 25 * letter && tree->columnWidth(1) > 15 * letter,
                qPrintable(
                    u"%1: %2, %3"_s.arg(size.width()).arg(tree->columnWidth(0)).arg(tree->columnWidth(1))));
            QCOMPARE(tree->columnWidth(0) + tree->columnWidth(1), tree->viewport()->width());
            QVERIFY(tree->viewport()->height() > 4 * tree->fontMetrics().height());
            keepPicture(ui.window(), u"findings-%1"_s.arg(size.width()));
        }
        WindowFixture large;
        applyTextSize(textSize(kThreeSteps));
        large.window().resize(1366, 768);
        QVERIFY(large.open(samplePath("zero3-w4")));
        large.window().showPage(PageId::Findings);
        QVERIFY(large.settle());
        QTest::qWait(20);
        const auto* places = large.find<QTreeView>("findingTree");
        QVERIFY2(places->columnWidth(1) > 12 * places->fontMetrics().averageCharWidth(),
            qPrintable(QString::number(places->columnWidth(1))));
        applyTextSize(100);
        // A width that the user chose stays.
        WindowFixture ui;
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.window().showPage(PageId::Findings);
        QVERIFY(ui.settle());
        auto* tree = ui.find<QTreeView>("findingTree");
        tree->header()->resizeSection(1, 70);
        ui.window().resize(kSmall);
        QVERIFY(ui.settle());
        QCOMPARE(tree->columnWidth(1), 70);
    }

    void panelsLeaveRoomForThePage()
    {
        for (const int steps : {0, kThreeSteps}) {
            applyTextSize(textSize(steps));
            WindowFixture ui;
            ui.window().resize(1366, 768);
            QVERIFY(ui.open(samplePath("zero3-w4")));
            const int explorer = ui.find<QDockWidget>("explorerDock")->width();
            const int details = ui.find<QDockWidget>("detailsDock")->width();
            QVERIFY2(details < 270, qPrintable(QString::number(details)));
            QVERIFY2(explorer + details < 630, qPrintable(QString::number(explorer)));
            // Names of the first level are whole, also where the text is large.
            const auto* tree = ui.find<QTreeView>("explorerTree");
            constexpr int kIndents = 60;
            QVERIFY(
                tree->columnWidth(0) > tree->fontMetrics().horizontalAdvance(u"tok_embeddings"_s) + kIndents);
        }
    }

    void theSettingsFit()
    {
        for (const int steps : {0, kThreeSteps}) {
            applyTextSize(textSize(steps));
            WindowFixture ui;
            auto* dialog = new SettingsDialog(ui.settings(), &ui.window());
            dialog->show();
            QVERIFY(QTest::qWaitForWindowExposed(dialog));
            const auto isWhole = [&] {
                const auto* scroll = dialog->findChild<QScrollArea*>();
                return scroll->horizontalScrollBar()->maximum() == 0
                    && scroll->verticalScrollBar()->maximum() == 0;
            };
            QTRY_VERIFY(isWhole());
            applyTextSize(textSize(kThreeSteps)); // it is chosen in this dialog
            QTRY_VERIFY(isWhole());
            delete dialog;
        }
    }

    /// Pictures and figures of letters, too; and no title in the list is cut.
    void theManualHasNoSidewaysBar()
    {
        for (const int steps : {0, kThreeSteps}) {
            applyTextSize(textSize(steps));
            WindowFixture ui;
            ManualWindow::open(&ui.window(), u"concepts"_s);
            auto* manual = ui.window().findChild<ManualWindow*>();
            // Before it has its width, code is as large as the text.
            const auto* document = manual->findChild<QTextBrowser*>(u"manualText"_s)->document();
            for (QTextBlock block = document->begin(); block.isValid(); block = block.next()) {
                const QFont font
                    = block.begin().fragment().charFormat().font().resolve(document->defaultFont());
                if (block.blockFormat().nonBreakableLines())
                    QVERIFY(
                        QFontInfo(font).pointSizeF() > 0.9 * QFontInfo(document->defaultFont()).pointSizeF());
            }
            manual->resize(860, 700);
            const auto* text = manual->findChild<QTextBrowser*>(u"manualText"_s);
            const auto* list = manual->findChild<QListWidget*>(u"manualTopics"_s);
            for (const char* topic : {"concepts", "getting-started"}) {
                manual->showTopic(QString::fromLatin1(topic));
                QTRY_COMPARE(text->horizontalScrollBar()->maximum(), 0);
            }
            QCOMPARE(list->textElideMode(), Qt::ElideNone);
            QCOMPARE(list->horizontalScrollBar()->maximum(), 0);
        }
    }

    /// Text of any size, with jobs and a message: pages are scrolled then.
    void theWindowIsAsSmallAsAsked()
    {
        WindowFixture ui;
        MainWindow& window = ui.window();
        window.resize(kSmall);
        QVERIFY(ui.open(samplePath("zero3-w4")));
        ui.find<QDockWidget>("jobsDock")->show();
        ui.find<MessageBar>("windowMessages")
            ->showMessage(
                Severity::Info, u"On disk, since this checkpoint was read: 1 file changed."_s, {u"Reload"_s});
        for (int percent = 0; percent != nextTextSize(percent, 1);) {
            percent = nextTextSize(percent, 1);
            applyTextSize(percent);
            QCoreApplication::processEvents();
            const QSize least = window.minimumSizeHint();
            QVERIFY2(least.width() <= kSmall.width() && least.height() <= kSmall.height(),
                qPrintable(u"%1 %: %2x%3"_s.arg(percent).arg(least.width()).arg(least.height())));
        }
    }
};

SHARDSCOPE_UI_TEST(TestFits, WithDisplay)
#include "tst_fits.moc"
