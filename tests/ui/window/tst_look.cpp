// SPDX-License-Identifier: Apache-2.0
// Pictures of every page in light and dark, for people to look at, and what can be said about them by rule.
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/dialogs/reshard_dialog.h"
#include "ui/dialogs/shortcut_sheet.h"
#include "ui/layoutmap/layout_map_view.h"
#include "ui/shell/page_window.h"
#include "ui/style/app_style.h"
#include "ui/widgets/filter_field.h"

#include <QAbstractButton>
#include <QDialog>
#include <QDialogButtonBox>
#include <QDir>
#include <QListWidget>
#include <QTabBar>
#include <QTest>
#include <QTreeView>

#include <cmath>
#include <thread>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

double luminance(const QColor& colour)
{
    const auto linear
        = [](double part) { return part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4); };
    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF())
        + 0.0722 * linear(colour.blueF());
}

double contrast(const QColor& a, const QColor& b)
{
    const double high = std::max(luminance(a), luminance(b));
    const double low = std::min(luminance(a), luminance(b));
    return (high + 0.05) / (low + 0.05);
}

QString picturePath(const QString& name)
{
    const QString folder = QCoreApplication::applicationDirPath() + u"/screenshots"_s;
    QDir().mkpath(folder);
    return folder + u'/' + name + u".png"_s;
}

int coloursOf(const QImage& image)
{
    QSet<QRgb> colours;
    for (int y = 0; y < image.height(); y += 3)
        for (int x = 0; x < image.width(); x += 3)
            colours.insert(image.pixel(x, y));
    return static_cast<int>(colours.size());
}

bool mapsDrawn(const QWidget* widget)
{
    for (const LayoutMapView* map : widget->findChildren<LayoutMapView*>())
        if (map->isVisible() && map->canvas()->isDrawing())
            return false;
    return true;
}

} // namespace

class TestLook : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QApplication::setStyle(new AppStyle); }

    void themesNameEveryRole_data()
    {
        QTest::addColumn<ThemeMode>("mode");
        QTest::addColumn<double>("least");
        QTest::newRow("light") << ThemeMode::Light << 4.5;
        QTest::newRow("dark") << ThemeMode::Dark << 4.5;
        QTest::newRow("high contrast") << ThemeMode::HighContrast << 7.0;
    }

    void themesNameEveryRole()
    {
        QFETCH(ThemeMode, mode);
        QFETCH(double, least);
        Theme theme;
        theme.setMode(mode);
        QCOMPARE(theme.isDark(), mode != ThemeMode::Light);
        for (int role = 0; role < static_cast<int>(ThemeRole::Count); ++role)
            QVERIFY2(theme.colour(static_cast<ThemeRole>(role)).isValid(),
                qPrintable(Theme::roleName(static_cast<ThemeRole>(role))));
        for (int i = 0; i < 8; ++i)
            QVERIFY(theme.classColour(static_cast<ParamClass>(i)).isValid());
        for (size_t i = 0; i < Theme::kHues; ++i)
            QVERIFY(theme.hue(i).isValid());
        const auto readable = [&](ThemeRole text, ThemeRole ground) {
            const double value = contrast(theme.colour(text), theme.colour(ground));
            const QString where
                = u"%1 on %2: %3"_s.arg(Theme::roleName(text), Theme::roleName(ground)).arg(value);
            QVERIFY2(value >= least, qPrintable(where));
        };
        for (const ThemeRole text : {ThemeRole::Text, ThemeRole::MutedText})
            for (const ThemeRole ground :
                {ThemeRole::Window, ThemeRole::Surface, ThemeRole::SurfaceAlternate, ThemeRole::Hover})
                readable(text, ground);
        for (const ThemeRole text :
            {ThemeRole::Accent, ThemeRole::Success, ThemeRole::Warning, ThemeRole::Error, ThemeRole::Info})
            for (const ThemeRole ground :
                {ThemeRole::Window, ThemeRole::Surface, ThemeRole::SurfaceAlternate})
                readable(text, ground);
        for (const ThemeRole text : {ThemeRole::Text, ThemeRole::MutedText})
            readable(text, ThemeRole::MapBackground);
        readable(ThemeRole::Success, ThemeRole::SuccessTint);
        readable(ThemeRole::Warning, ThemeRole::WarningTint);
        readable(ThemeRole::Error, ThemeRole::ErrorTint);
        readable(ThemeRole::Info, ThemeRole::InfoTint);
        for (const ThemeRole ground : {ThemeRole::SuccessTint, ThemeRole::WarningTint, ThemeRole::ErrorTint,
                 ThemeRole::InfoTint, ThemeRole::ShareBar})
            readable(ThemeRole::Text, ground);
        readable(ThemeRole::AccentText, ThemeRole::Accent);
        theme.setMode(ThemeMode::System);
    }

    void textOfThePaletteCanBeRead_data()
    {
        QTest::addColumn<ThemeMode>("mode");
        QTest::newRow("system") << ThemeMode::System;
        QTest::newRow("light") << ThemeMode::Light;
        QTest::newRow("dark") << ThemeMode::Dark;
        QTest::newRow("high contrast") << ThemeMode::HighContrast;
    }

    /// What every label, field and button is drawn with; in System mode that which is not the desktop's own.
    void textOfThePaletteCanBeRead()
    {
        QFETCH(ThemeMode, mode);
        Theme theme;
        theme.setMode(mode);
        const QPalette palette = QApplication::palette();
        using Role = QPalette::ColorRole;
        QList<std::pair<Role, Role>> pairs;
        for (const Role ground :
            {QPalette::Window, QPalette::Base, QPalette::AlternateBase, QPalette::Button})
            pairs.append(std::pair(QPalette::PlaceholderText, ground));
        if (mode != ThemeMode::System)
            pairs << QList<std::pair<Role, Role>>{{QPalette::WindowText, QPalette::Window},
                {QPalette::Text, QPalette::Base}, {QPalette::Text, QPalette::AlternateBase},
                {QPalette::ButtonText, QPalette::Button}, {QPalette::ToolTipText, QPalette::ToolTipBase},
                {QPalette::BrightText, QPalette::Window}, {QPalette::HighlightedText, QPalette::Highlight},
                {QPalette::Link, QPalette::Window}, {QPalette::Link, QPalette::Base},
                {QPalette::LinkVisited, QPalette::Base}};
        for (const auto group : {QPalette::Active, QPalette::Inactive, QPalette::Disabled}) {
            for (const auto& [text, ground] : pairs) {
                const QColor above = palette.color(group, text);
                const QColor below = palette.color(group, ground);
                QVERIFY2(below.alpha() == 255, "a ground that is seen through");
                const double share = above.alphaF();
                const auto part = [share](float from, float to) {
                    return static_cast<float>(from + (to - from) * share);
                };
                const QColor seen = QColor::fromRgbF(part(below.redF(), above.redF()),
                    part(below.greenF(), above.greenF()), part(below.blueF(), above.blueF()));
                const double value = contrast(seen, below);
                QVERIFY2(value >= 4.5,
                    qPrintable(u"group %1, role %2 on %3: %4"_s.arg(group).arg(text).arg(ground).arg(value)));
            }
        }
        // Hints are the same whether they are of the palette or of the theme.
        QCOMPARE(palette.color(QPalette::PlaceholderText), theme.colour(ThemeRole::MutedText));
        theme.setMode(ThemeMode::System);
    }

    /// Tabs without a page below them, such as those of states.
    void theSelectedTabDiffersInTheDark()
    {
        WindowFixture ui(ThemeMode::Dark);
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(ui.window().goToAddress(u"layers.0.attention.wq.weight#exp_avg"_s));
        QVERIFY(ui.window().showPage(u"tensor"_s) && ui.settle());
        auto* tabs = ui.find<QTabBar>("tensorStates");
        QVERIFY(tabs->count() >= 3);
        const QImage image = tabs->grab().toImage();
        const QRgb accent = tabs->palette().color(QPalette::Highlight).rgb();
        for (int tab = 0; tab < tabs->count(); ++tab) {
            int found = 0;
            const QRect place = tabs->tabRect(tab);
            for (int y = place.top(); y <= place.bottom(); ++y)
                for (int x = place.left(); x <= place.right(); ++x)
                    found += image.pixel(x, y) == accent ? 1 : 0;
            QCOMPARE(found > place.width(), tab == tabs->currentIndex());
        }
    }

    /// The desktop's are black, on dark grounds, too.
    void buttonsOfDialogsHaveNoIcons()
    {
        const QDialogButtonBox box(QDialogButtonBox::Close | QDialogButtonBox::Cancel);
        for (const QAbstractButton* button : box.buttons())
            QVERIFY(button->icon().isNull());
    }

    void popupsHaveAnEdge()
    {
        WindowFixture ui(ThemeMode::HighContrast);
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QTest::keyClick(&ui.window(), Qt::Key_F, Qt::ControlModifier);
        auto* panel = ui.find<QWidget>("findPanel");
        QTRY_VERIFY(panel->isVisible());
        const QImage image = panel->grab().toImage();
        const QColor ground = panel->palette().color(QPalette::Base);
        for (const QPoint at : {QPoint(0, image.height() / 2), QPoint(image.width() / 2, image.height() - 1)})
            QVERIFY(contrast(image.pixelColor(at), ground) >= 3);
    }

    /// Their ground is that of what is around them.
    void listsHaveAnEdge()
    {
        WindowFixture ui(ThemeMode::HighContrast);
        QVERIFY(ui.open(samplePath("zero2-w2")));
        QVERIFY(ui.window().showPage(u"runs"_s));
        QVERIFY(ui.settle());
        ui.window().actionSet()[ActionId::OpenHost]->trigger();
        for (const char* name : {"tagTable", "hostList"}) {
            auto* list = ui.find<QAbstractItemView>(name);
            QVERIFY2(list != nullptr && list->isVisible(), name);
            const QImage image = list->grab().toImage();
            const QColor ground = list->palette().color(QPalette::Base);
            for (const QPoint at :
                {QPoint(0, image.height() / 2), QPoint(image.width() / 2, image.height() - 1)})
                QVERIFY2(contrast(image.pixelColor(at), ground) >= 3, name);
        }
        ui.theme().setMode(ThemeMode::Light);
        QCOMPARE(ui.find<QAbstractItemView>("tagTable")->frameWidth(), 0);
    }

    /// Without a theme of the desktop, Qt's own cross and arrow are dark grey.
    void smallMarksCanBeSeen_data() { textOfThePaletteCanBeRead_data(); }

    void smallMarksCanBeSeen()
    {
        QFETCH(ThemeMode, mode);
        WindowFixture ui(mode);
        QVERIFY(ui.open(samplePath("zero2-w2")));
        auto* field = ui.find<FilterField>("filterField");
        field->setText(u"x"_s);
        QVERIFY(ui.settle());
        const auto strongest = [](const QImage& image, const QColor& ground) {
            double most = 0;
            for (int y = 2; y < image.height() - 2; ++y)
                for (int x = 2; x < image.width() - 2; ++x)
                    most = std::max(most, contrast(image.pixelColor(x, y), ground));
            return most;
        };
        const auto marks = field->findChildren<QAbstractButton*>();
        QVERIFY(marks.size() >= 2); // saved filters, and the cross
        for (const QAbstractButton* mark : marks) {
            const QRect place(mark->mapTo(field, QPoint()), mark->size());
            // The cross fades in.
            QTRY_VERIFY(
                strongest(field->grab(place).toImage(), field->palette().color(QPalette::Base)) >= 4.5);
        }
        auto* tree = ui.find<QTreeView>("explorerTree");
        const QModelIndex module = tree->model()->index(0, 0, tree->model()->index(0, 0));
        QVERIFY(tree->model()->hasChildren(module));
        const auto arrow = [&] {
            const QRect row = tree->visualRect(module);
            const QRect place(row.left() - tree->indentation(), row.top(), tree->indentation(), row.height());
            return tree->viewport()->grab(place).toImage();
        };
        QVERIFY(strongest(arrow(), tree->palette().color(QPalette::Base)) >= 4.5);
        tree->setCurrentIndex(module);
        const QImage selected = arrow();
        QVERIFY(strongest(selected, selected.pixelColor(1, selected.height() / 2)) >= 4.5);
    }

    void dialogsHaveAnEdge()
    {
        for (const ThemeMode mode : {ThemeMode::Dark, ThemeMode::HighContrast}) {
            WindowFixture ui(mode);
            QDialog dialog(&ui.window());
            dialog.resize(300, 200);
            dialog.show();
            QVERIFY(QTest::qWaitForWindowExposed(&dialog));
            const QImage image = dialog.grab().toImage();
            const QColor ground = image.pixelColor(150, 100);
            for (const QPoint at : {QPoint(0, 100), QPoint(299, 100), QPoint(150, 0), QPoint(150, 199)})
                QVERIFY(contrast(image.pixelColor(at), ground) >= (mode == ThemeMode::Dark ? 1.5 : 3));
        }
    }

    void hintsOfADarkDesktopCanBeRead()
    {
        Theme theme; // in System mode
        QPalette dark;
        dark.setColor(QPalette::Window, QColor(0x2A2E32));
        dark.setColor(QPalette::WindowText, QColor(0xFCFCFC));
        dark.setColor(QPalette::Base, QColor(0x1B1E20));
        dark.setColor(QPalette::AlternateBase, QColor(0x232629));
        dark.setColor(QPalette::Button, QColor(0x31363B));
        QApplication::setPalette(dark);
        QVERIFY(theme.isDark());
        const QColor hint = QApplication::palette().color(QPalette::PlaceholderText);
        for (const QPalette::ColorRole ground :
            {QPalette::Window, QPalette::Base, QPalette::AlternateBase, QPalette::Button})
            QVERIFY(contrast(hint, QApplication::palette().color(ground)) >= 4.5);
        QApplication::setPalette(QPalette());
    }

    void pages_data()
    {
        QTest::addColumn<bool>("dark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }

    void pages()
    {
        QFETCH(bool, dark);
        m_dark = dark;
        WindowFixture ui(dark ? ThemeMode::Dark : ThemeMode::Light);
        // Each of them returns early when a check in it fails.
        for (const auto step : {&TestLook::shootStart, &TestLook::shootPages, &TestLook::shootPickers,
                 &TestLook::shootDialogs, &TestLook::shootJob, &TestLook::shootBroken}) {
            (this->*step)(ui);
            if (QTest::currentTestFailed())
                return;
        }
        ui.theme().setMode(ThemeMode::System);
    }

private:
    void shoot(QWidget* widget, const QString& name)
    {
        QCoreApplication::processEvents();
        (void)widget->grab(); // the first picture makes the map request its tiles
        QVERIFY(QTest::qWaitFor([&] { return mapsDrawn(widget); }, 20'000));
        const QImage image = widget->grab().toImage();
        QVERIFY(image.save(picturePath(name + (m_dark ? u"-dark"_s : u"-light"_s))));
        QVERIFY2(coloursOf(image) > 8, qPrintable(name));
        // The middle of the top left corner shows whether the theme was applied.
        QCOMPARE(image.pixelColor(4, image.height() - 6).lightness() < 128, m_dark);
    }

    void shootStart(WindowFixture& ui)
    {
        ui.settings().remember({{samplePath("zero3-w4")}, u"ZeRO-3 · 4 ranks · bf16"_s, 1'234'567, 1,
            QDateTime(QDate(2026, 3, 1), QTime(12, 0)), true});
        ui.settings().remember({{ui.folder(u"runs/llama-7b"_s)}, u"ZeRO-2 · 64 ranks · bf16"_s,
            98'765'432'100, 12, QDateTime(QDate(2026, 2, 1), QTime(12, 0)), false});
        // The list's second entry is in no folder, which a worker finds out.
        auto* recent = ui.find<QListWidget>("recentList");
        QTRY_VERIFY(recent->count() == 2 && recent->item(1)->text().contains(u"not found"_s));
        shoot(&ui.window(), u"start"_s);
        QVERIFY(ui.open(ui.folder(u"nothing here"_s)));
        shoot(&ui.window(), u"start-error"_s);
    }

    void shootPages(WindowFixture& ui)
    {
        QVERIFY(ui.open(samplePath("zero3-w4")));
        shoot(&ui.window(), u"overview"_s);
        ui.window().selection().selectParam(ParamId{2});
        for (const QString& page : {u"map"_s, u"parameters"_s, u"files"_s}) {
            QVERIFY(ui.window().showPage(page));
            if (page == u"files"_s)
                ui.window().selection().selectFile(ui.checkpoint()->templateOptim);
            QVERIFY(ui.settle());
            shoot(&ui.window(), page);
        }
        QVERIFY(ui.window().showPage(u"parameters"_s));
        ui.find<FilterField>("filterField")->setText(u"layer:0 attention size>1K"_s);
        QVERIFY(ui.settle());
        shoot(&ui.window(), u"parameters-filtered"_s);
        QVERIFY(ui.window().showPage(u"map"_s));
        auto* canvas = ui.find<LayoutMapView>("layoutMap")->canvas();
        canvas->setFocus(Qt::TabFocusReason);
        for (const Qt::Key key :
            {Qt::Key_Down, Qt::Key_P, Qt::Key_M, Qt::Key_Right, Qt::Key_Right, Qt::Key_Down, Qt::Key_M})
            QTest::keyClick(canvas, key);
        QVERIFY(ui.settle());
        shoot(&ui.window(), u"map-places"_s);
    }

    void shootPickers(WindowFixture& ui)
    {
        auto* field = ui.find<FilterField>("filterField");
        QTest::keyClick(&ui.window(), Qt::Key_P, Qt::ControlModifier);
        QTest::keyClicks(field, u"layer"_s);
        QVERIFY(ui.settle());
        shoot(&ui.window(), u"finder"_s);
        QTest::keyClick(field, Qt::Key_Escape);
        field->clear();
        QTest::keyClick(&ui.window(), Qt::Key_P, Qt::ControlModifier | Qt::ShiftModifier);
        QVERIFY(ui.settle());
        shoot(&ui.window(), u"palette"_s);
        QTest::keyClick(field, Qt::Key_Escape);
        PageWindow* own = ui.window().openPageWindow();
        QVERIFY(own != nullptr);
        shoot(own, u"page-window"_s);
        own->close();
        ui.find<FilterField>("filterField")->clear();
    }

    void shootDialogs(WindowFixture& ui)
    {
        ReshardDialog* dialog = ui.window().showReshardDialog();
        QVERIFY(QTest::qWaitFor([&] { return dialog->preview().plan != nullptr; }, 30'000));
        shoot(dialog, u"reshard"_s);
        dialog->reject();
        ShortcutSheet sheet(ui.window().actionSet().all(), &ui.window());
        sheet.show();
        shoot(&sheet, u"shortcuts"_s);
        sheet.close();
    }

    void shootJob(WindowFixture& ui)
    {
        ui.window().jobs().add(new Job(u"Reshard to 8 GPUs"_s, u"/data/runs/llama-7b-dp8/global_step5"_s,
            [](JobContext& context) -> Result<JobOutcome> {
                context.beginPhase("writing", uint64_t{64} << 30);
                context.advance(uint64_t{23} << 30);
                while (!context.cancelled()) {
                    context.advance(1);
                    std::this_thread::yield();
                }
                return fail(ErrorCode::Cancelled, "cancelled");
            }));
        Job* job = ui.window().jobs().jobs().first();
        QTRY_VERIFY(job->progress().bytesDone > 0);
        shoot(&ui.window(), u"job"_s);
        job->cancel();
        QTRY_VERIFY(!job->isActive());
    }

    void shootBroken(WindowFixture& ui)
    {
        const QString copy = copiedSample("zero2-w2", ui.folder(u"broken"_s));
        QVERIFY(QFile::remove(copy + u"/global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"_s));
        QVERIFY(ui.open(copy));
        QVERIFY(ui.window().showPage(u"overview"_s));
        shoot(&ui.window(), u"broken"_s);
    }

    bool m_dark = false;
};

SHARDSCOPE_UI_TEST(TestLook, WithDisplay)
#include "tst_look.moc"
