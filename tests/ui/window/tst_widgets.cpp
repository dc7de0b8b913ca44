// SPDX-License-Identifier: Apache-2.0
// Single widgets of the window: their drawing is readable and in the right place.
#include "tests/support/synthetic_checkpoint.h"
#include "tests/ui/ui_tests.h"
#include "ui/controls/cell_delegate.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/layoutmap/map_ruler.h"
#include "ui/layoutmap/map_scroll_bar.h"
#include "ui/layoutmap/rank_gutter.h"
#include "ui/models/model_roles.h"
#include "ui/style/app_style.h"
#include "ui/style/theme.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/elided_text.h"
#include "ui/widgets/link_button.h"
#include "ui/widgets/message_bar.h"

#include <QApplication>
#include <QHeaderView>
#include <QMenu>
#include <QPainter>
#include <QPointer>
#include <QScrollArea>
#include <QStandardItemModel>
#include <QTableWidget>
#include <QTest>
#include <QToolButton>
#include <QTreeView>

#include <cstdlib>
#include <memory>

// Options that a test leaves out keep their defaults.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

/// The pixel rows that have something darker than `limit` in them: first and last.
std::pair<int, int> inkRows(const QImage& image, int limit = 110)
{
    std::pair<int, int> rows{-1, -1};
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            if (image.pixelColor(x, y).lightness() < limit) {
                rows.first = rows.first < 0 ? y : rows.first;
                rows.second = y;
            }
    return rows;
}

CheckpointPtr threeRanksOneBad()
{
    auto checkpoint = test::buildSyntheticCheckpoint({.stage = 3, .ranks = 3, .params = 8});
    checkpoint.findings.push_back(
        {"test-finding", Severity::Error, "bad", checkpoint.file(checkpoint.optimFiles[1]).name, {}});
    return std::make_shared<const Checkpoint>(std::move(checkpoint));
}

} // namespace

class TestWidgets : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase()
    {
        QApplication::setStyle(new AppStyle);
        m_theme = std::make_unique<Theme>();
        m_theme->setMode(ThemeMode::Light);
    }

    void shortenedFileNamesKeepTheirRank()
    {
        const QFontMetrics metrics(QApplication::font());
        const QString name = u"bf16_zero_pp_rank_17_mp_rank_00_optim_states.pt"_s;
        const int whole = metrics.horizontalAdvance(name);
        QCOMPARE(elidedText(name, metrics, whole), name);
        const QString numbers = u"…rank_17_mp_rank_00…"_s;
        const QString shortest = u"…17_mp_rank_00…"_s;
        for (int width = metrics.horizontalAdvance(shortest); width < whole; ++width) {
            const QString shown = elidedText(name, metrics, width);
            QVERIFY2(shown.contains(u"17_mp_rank_00"_s), qPrintable(shown));
            QVERIFY2(metrics.horizontalAdvance(shown) <= width, qPrintable(shown));
        }
        QVERIFY(elidedText(name, metrics, metrics.horizontalAdvance(name.mid(13)) + 20)
                    .endsWith(u"rank_17_mp_rank_00_optim_states.pt"_s));
        QCOMPARE(elidedText(name, metrics, metrics.horizontalAdvance(numbers)), numbers);
        const QString expert = u"layer_3_expert_11_mp_rank_00_model_states.pt"_s;
        QVERIFY(elidedText(expert, metrics, metrics.horizontalAdvance(expert) * 3 / 4)
                    .contains(u"layer_3_expert_11_mp_rank_00"_s));
        // If even that does not fit, and for other names: plain middle elision.
        const int narrow = metrics.horizontalAdvance(shortest) - 1;
        QCOMPARE(elidedText(name, metrics, narrow), metrics.elidedText(name, Qt::ElideMiddle, narrow));
        const QString path = u"/runs/llama/global_step5/"_s + name;
        QCOMPARE(elidedText(path, metrics, 160), metrics.elidedText(path, Qt::ElideMiddle, 160));
        const QString other = u"layers.10.self_attn.q_proj.weight"_s;
        QCOMPARE(elidedText(other, metrics, 90), metrics.elidedText(other, Qt::ElideMiddle, 90));
    }

    void shortenedNamesKeepTheirLeaf()
    {
        const QFontMetrics metrics(QApplication::font());
        const auto widthOf = [&](const QString& text) { return metrics.horizontalAdvance(text); };
        const QString name = u"transformer.layers.10.attention.query_key_value_projection"_s;
        for (int width = widthOf(u"…query_key_value_projection"_s); width < widthOf(name); width += 5)
            QVERIFY(elidedText(name, metrics, width).endsWith(u"query_key_value_projection"_s));
        const int narrow = widthOf(u"…query_key_value_projection"_s) - 1;
        QCOMPARE(elidedText(name, metrics, narrow), metrics.elidedText(name, Qt::ElideMiddle, narrow));
        const QString state = u"layers.3.mlp.gate.weight#exp_avg_sq"_s;
        QVERIFY(elidedText(state, metrics, widthOf(state) * 2 / 3).endsWith(u"weight#exp_avg_sq"_s));
        for (const QString& other : {u"scheduler_and_optimizer_settings.json"_s, u"12.3456789012345678"_s,
                 u"A sentence with words. It has a longest_word_at_its_very_end"_s})
            QCOMPARE(elidedText(other, metrics, widthOf(other) * 2 / 3),
                metrics.elidedText(other, Qt::ElideMiddle, widthOf(other) * 2 / 3));
    }

    void cleanupTestCase() { m_theme.reset(); }

    void headersShowWholeLetters()
    {
        QTableWidget table(1, 1);
        table.setHorizontalHeaderLabels({u"gpqy"_s});
        table.horizontalHeader()->setFixedHeight(table.fontMetrics().height() + 11);
        table.resize(300, 120);
        table.show();
        QVERIFY(QTest::qWaitForWindowExposed(&table));
        // The text alone: the section's lower edge is ink too.
        const QImage header = table.horizontalHeader()->viewport()->grab().toImage();
        const auto drawn = inkRows(header.copy(0, 1, 80, header.height() - 4));
        QImage wanted(200, 60, QImage::Format_RGB32);
        wanted.fill(Qt::white);
        QPainter painter(&wanted);
        painter.setFont(table.horizontalHeader()->font());
        painter.drawText(10, 40, u"gpqy"_s);
        painter.end();
        const auto whole = inkRows(wanted);
        QVERIFY(whole.second > whole.first);
        QVERIFY2(drawn.second - drawn.first >= whole.second - whole.first - 1,
            qPrintable(
                u"%1 of %2 pixel rows"_s.arg(drawn.second - drawn.first).arg(whole.second - whole.first)));
    }

    void menuButtonsMakeRoomForTheirMark()
    {
        QToolButton button;
        button.setToolButtonStyle(Qt::ToolButtonTextOnly);
        button.setText(u"global_step5"_s);
        button.setPopupMode(QToolButton::InstantPopup);
        const int without = button.sizeHint().width();
        QMenu menu;
        menu.addAction(u"other"_s);
        button.setMenu(&menu);
        button.setText(u"global_step6"_s);
        QVERIFY(button.sizeHint().width() > without + 8);
    }

    void elidedTextKeepsItsMargins()
    {
        ElidedLabel label;
        label.setText(u"MMMMMMMM"_s);
        label.setContentsMargins(9, 0, 7, 0);
        label.resize(label.sizeHint());
        const QImage image = label.grab().toImage();
        const QRgb ground = image.pixel(0, 0);
        const auto isEmpty = [&](int x) {
            for (int y = 0; y < image.height(); ++y)
                if (image.pixel(x, y) != ground)
                    return false;
            return true;
        };
        for (int x = 0; x < 9; ++x)
            QVERIFY2(isEmpty(x), qPrintable(QString::number(x)));
        QVERIFY(!isEmpty(12));
        for (int x = image.width() - 7; x < image.width(); ++x)
            QVERIFY2(isEmpty(x), qPrintable(QString::number(x)));
    }

    void rankLabelsDoNotTouch()
    {
        for (const double row : {0.01, 0.4, 1.0, 7.5, 9.9, 10.0, 15.9, 16.0, 64.0}) {
            const uint64_t step = rankLabelStep(row, 16);
            QVERIFY2(static_cast<double>(step) * row >= 16, qPrintable(QString::number(row)));
            QVERIFY(step == 1 || static_cast<double>(step / 2) * row < 16);
        }
    }

    void findingMarksAreNextToTheirRows()
    {
        LayoutMapView map(m_theme.get());
        map.resize(900, 700);
        map.setCheckpoint(threeRanksOneBad());
        map.show();
        QVERIFY(QTest::qWaitForWindowExposed(&map));
        QCOMPARE(map.viewport()->maximumY(), int64_t{0});
        auto* bar = map.findChild<MapScrollBar*>(u"mapRowScrollBar"_s);
        const QImage image = bar->grab().toImage();
        const QRgb mark = m_theme->colour(ThemeRole::Error).rgb();
        const int row = map.viewport()->geometry().rowScale().rowHeight();
        const int top = map.viewport()->layout().headerHeight();
        int marked = 0;
        for (int y = 0; y < image.height(); ++y)
            if (image.pixel(image.width() - 3, y) == mark) {
                QVERIFY2(y >= top + row - 2 && y <= top + 2 * row + 2, qPrintable(QString::number(y)));
                ++marked;
            }
        QVERIFY(marked >= row - 4);
    }

    void nothingIsRuledWithoutAMap()
    {
        LayoutMapView map(m_theme.get());
        map.resize(600, 300);
        map.show();
        QVERIFY(QTest::qWaitForWindowExposed(&map));
        const QImage image = map.findChild<MapRuler*>()->grab().toImage();
        const QRgb ground = image.pixel(0, 0);
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); x += 7)
                QCOMPARE(image.pixel(x, y), ground);
    }

    /// A list of links is made again while the menu of one of them is open.
    void aMenuGoesWithItsLink()
    {
        auto link = std::make_unique<LinkButton>(u"dp0"_s);
        link->show();
        Q_EMIT link->customContextMenuRequested({2, 2});
        const QPointer<QWidget> menu = QApplication::activePopupWidget();
        QVERIFY(menu);
        QCOMPARE(menu->actions().size(), 1);
        link.reset();
        QVERIFY(!menu);
        QVERIFY(QApplication::activePopupWidget() == nullptr);
    }

    /// A line ends inside a name only where the name is longer than a line, and then after a dot.
    void linksKeepNamesWhole()
    {
        const QString name = u"layers.0.attention.wq.weight"_s;
        LinkButton link(u"The values of "_s + name + u" differ"_s);
        LinkButton alone(name);
        const int line = alone.sizeHint().height();
        const int width = alone.sizeHint().width() + 6;
        QCOMPARE(alone.heightForWidth(width), line);
        const int lines = link.heightForWidth(width) / line;
        QCOMPARE(lines, 3);
        // The name ends where it ends alone: its line has all of it.
        const auto endOf = [&](LinkButton& of, int height, int top) {
            of.resize(width, height);
            QImage image(width, height, QImage::Format_RGB32);
            image.fill(Qt::white);
            of.render(&image, QPoint(), QRegion(), QWidget::DrawChildren);
            for (int x = width - 1; x >= 0; --x)
                for (int y = top; y < top + line; ++y)
                    if (image.pixelColor(x, y).lightness() < 160)
                        return x;
            return -1;
        };
        const int whole = endOf(alone, line, 0);
        QVERIFY(whole > width / 2);
        const int inText = endOf(link, lines * line, line);
        QVERIFY2(std::abs(inText - whole) <= 2, qPrintable(u"%1, %2"_s.arg(inText).arg(whole)));
        // Longer than a line.
        const int narrow = QFontMetrics(alone.font()).horizontalAdvance(u"layers.0.attention."_s) + 4;
        const int two = alone.heightForWidth(narrow);
        QVERIFY2(two >= 2 * line && two < 3 * line, qPrintable(QString::number(two)));
    }

    void selectedRowsShowWhatIsMissing()
    {
        for (const ThemeMode mode : {ThemeMode::Light, ThemeMode::Dark, ThemeMode::HighContrast}) {
            m_theme->setMode(mode);
            const CellDelegate delegate(*m_theme);
            QStandardItemModel model(1, 1);
            model.setData(model.index(0, 0), QVariantList{QPointF(0, 1), QPointF(0.25, 0.5)}, int{WhereRole});
            QTreeView view;
            QStyleOptionViewItem option;
            option.initFrom(&view);
            option.widget = &view;
            option.rect = QRect(0, 0, 216, 24);
            option.state |= QStyle::State_Selected | QStyle::State_Active | QStyle::State_Enabled;
            QImage image(216, 24, QImage::Format_RGB32);
            image.fill(option.palette.color(QPalette::Highlight));
            QPainter painter(&image);
            delegate.paint(&painter, option, model.index(0, 0));
            painter.end();
            const QRgb held = image.pixel(30, 12);
            QCOMPARE(image.pixel(180, 12), held);
            int other = 0;
            for (int x = 60; x < 106; ++x)
                other += image.pixel(x, 12) != held ? 1 : 0;
            QVERIFY2(other > 20, qPrintable(QString::number(other)));
        }
        m_theme->setMode(ThemeMode::Light);
    }

    void longMessagesLeaveRoom()
    {
        QWidget window;
        MessageBar bar(*m_theme, &window);
        window.resize(700, 400);
        window.show();
        bar.setGeometry(0, 0, 700, 300);
        bar.showMessage(Severity::Error, u"Short."_s);
        const int line = bar.fontMetrics().lineSpacing();
        auto* scroll = bar.findChild<QScrollArea*>(u"messageScroll"_s);
        QVERIFY(scroll->height() < 2 * line);
        bar.showMessage(Severity::Error, QString(u"a file that is missing; "_s).repeated(200));
        QVERIFY(scroll->height() <= 5 * line);
        QVERIFY(scroll->height() >= 4 * line);
        QVERIFY(bar.sizeHint().height() <= 5 * line + 20);
        QCOMPARE(bar.text().size(), 200 * 24);
    }

private:
    std::unique_ptr<Theme> m_theme;
};

SHARDSCOPE_UI_TEST(TestWidgets, WithDisplay)
#include "tst_widgets.moc"
