// SPDX-License-Identifier: Apache-2.0
// A user who does anything: clicks, keys, menus, drags and sizes at random, on several checkpoints. The seed
// makes a run repeatable. A longer run, for example on a real display and under a sanitizer:
//   SHARDSCOPE_RANDOM_ACTIONS=20000 SHARDSCOPE_RANDOM_SEED=7 SHARDSCOPE_RANDOM_TEXT=3
//   SHARDSCOPE_RANDOM_LOG=actions.txt SHARDSCOPE_RANDOM_PICTURES=FOLDER test_ui TestRandomUser
#include "tests/ui/ui_tests.h"
#include "tests/ui/window_fixture.h"
#include "ui/pages/page.h"
#include "ui/style/app_style.h"

#include <QAction>
#include <QDesktopServices>
#include <QDrag>
#include <QElapsedTimer>
#include <QFile>
#include <QFileDialog>
#include <QLineEdit>
#include <QMenu>
#include <QPointer>
#include <QRandomGenerator>
#include <QScreen>
#include <QTest>
#include <QTimer>
#include <QWheelEvent>

#include <filesystem>

using namespace Qt::StringLiterals;
using namespace shardscope;
using namespace shardscope::ui;

namespace {

int numberOf(const char* variable, int fallback)
{
    bool valid = false;
    const int value = qEnvironmentVariableIntValue(variable, &valid);
    return valid ? value : fallback;
}

/// Where links would start programs.
class NoPrograms : public QObject
{
    Q_OBJECT
public:
    NoPrograms()
    {
        for (const QString& scheme : kSchemes)
            QDesktopServices::setUrlHandler(scheme, this, "ignore");
    }
    ~NoPrograms() override
    {
        for (const QString& scheme : kSchemes)
            QDesktopServices::unsetUrlHandler(scheme);
    }

public Q_SLOTS:
    void ignore(const QUrl& /*url*/) { }

private:
    static inline const QStringList kSchemes{u"file"_s, u"http"_s, u"https"_s};
};

/// What still works.
QString busyText(WindowFixture& ui)
{
    QStringList names;
    for (const Page* page : ui.window().findChildren<Page*>()) {
        if (page->isBusy())
            names.append(page->objectName());
    }
    if (ui.window().session().isOpening())
        names.append(u"opening"_s);
    return u"background work does not end: "_s + names.join(u", "_s);
}

class RandomUser
{
public:
    RandomUser(WindowFixture& ui, QStringList paths, quint32 seed)
        : m_ui(ui)
        , m_paths(std::move(paths))
        , m_random(seed)
        , m_log(qEnvironmentVariable("SHARDSCOPE_RANDOM_LOG"))
    {
        if (!m_log.fileName().isEmpty() && !m_log.open(QIODevice::WriteOnly))
            qFatal("the log cannot be written");
        // Some menus, and drags, have an event loop of their own, in which this is all that happens.
        m_nested.setInterval(60);
        QObject::connect(&m_nested, &QTimer::timeout, &m_nested, [this] { endNestedLoop(); });
    }

    void act()
    {
        m_nested.start();
        const int kind = below(100);
        if (kind < 34)
            click(Qt::LeftButton, false);
        else if (kind < 42)
            click(Qt::LeftButton, true);
        else if (kind < 49)
            click(Qt::RightButton, false);
        else if (kind < 54)
            drag();
        else if (kind < 64)
            wheel();
        else if (kind < 84)
            key();
        else if (kind < 91)
            type();
        else if (kind < 95)
            trigger();
        else if (kind < 98)
            resize();
        else
            open();
        QCoreApplication::processEvents();
        m_nested.stop();
        tidy();
    }

    /// Closes what lies over the windows, and the further windows.
    void calm()
    {
        while (QWidget* popup = QApplication::activePopupWidget()) {
            popup->close();
            QCoreApplication::processEvents();
        }
        for (QWidget* window : QApplication::topLevelWidgets()) {
            if (window != &m_ui.window() && window->isVisible())
                window->close();
        }
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    }

private:
    void endNestedLoop()
    {
        const QPointer<QWidget> menu = QApplication::activePopupWidget();
        if (!menu)
            return QDrag::cancel(); // of text, which has an event loop, too
        for (int steps = below(6); steps > 0 && menu; --steps)
            QTest::keyClick(menu, Qt::Key_Down);
        if (menu && below(2) == 0)
            QTest::keyClick(menu, Qt::Key_Return);
        if (menu)
            menu->close();
    }

    int below(int end) { return m_random.bounded(end); }
    template <class List>
    const auto& oneOf(const List& list)
    {
        return list[below(static_cast<int>(std::size(list)))];
    }

    void say(const QString& what)
    {
        if (!m_log.isOpen())
            return;
        m_log.write(what.toUtf8() + '\n');
        m_log.flush();
    }

    static QString nameOf(const QWidget* widget)
    {
        QString out = QString::fromLatin1(widget->metaObject()->className());
        for (; widget != nullptr && out.size() < 200; widget = widget->parentWidget()) {
            if (!widget->objectName().isEmpty())
                out += u" in "_s + widget->objectName();
        }
        return out;
    }

    /// What takes input: an open menu, a modal dialog, else one of the windows.
    QWidget* window()
    {
        if (QWidget* popup = QApplication::activePopupWidget(); popup != nullptr && below(10) < 8)
            return popup;
        if (QWidget* modal = QApplication::activeModalWidget())
            return modal;
        QList<QWidget*> windows;
        for (QWidget* widget : QApplication::topLevelWidgets()) {
            if (widget->isVisible() && widget->windowType() != Qt::ToolTip)
                windows.push_back(widget);
        }
        return windows.isEmpty() || below(3) > 0 ? &m_ui.window() : windows[below(int(windows.size()))];
    }

    /// A widget under a random point, and the point in it.
    std::pair<QWidget*, QPoint> place()
    {
        QWidget* top = window();
        const QPoint at(below(std::max(1, top->width())), below(std::max(1, top->height())));
        QWidget* child = top->childAt(at);
        QWidget* target = child != nullptr ? child : top;
        return {target, target->mapFrom(top, at)};
    }

    Qt::KeyboardModifiers modifier()
    {
        constexpr std::array kAll{Qt::NoModifier, Qt::NoModifier, Qt::NoModifier, Qt::ControlModifier,
            Qt::ShiftModifier, Qt::AltModifier};
        return oneOf(kAll);
    }

    void click(Qt::MouseButton button, bool twice)
    {
        const auto [widget, at] = place();
        const auto with = modifier();
        say(u"%1 %2 at %3,%4"_s
                .arg(twice                          ? u"double"_s
                        : button == Qt::RightButton ? u"right"_s
                                                    : u"click"_s,
                    nameOf(widget))
                .arg(at.x())
                .arg(at.y()));
        if (twice) {
            QTest::mouseDClick(widget, button, with, at);
            return;
        }
        const QPointer<QWidget> alive = widget;
        QTest::mouseClick(widget, button, with, at);
        if (button == Qt::RightButton && alive) {
            QContextMenuEvent event(QContextMenuEvent::Mouse, at, alive->mapToGlobal(at));
            QCoreApplication::sendEvent(alive, &event);
        }
    }

    void drag()
    {
        const auto [widget, from] = place();
        const QPoint to = from + QPoint(below(600) - 300, below(400) - 200);
        say(u"drag %1"_s.arg(nameOf(widget)));
        const QPointer<QWidget> alive = widget;
        QTest::mousePress(widget, Qt::LeftButton, modifier(), from);
        for (int step = 1; step <= 4 && alive; ++step)
            QTest::mouseMove(alive, from + (to - from) * step / 4);
        if (alive)
            QTest::mouseRelease(alive, Qt::LeftButton, {}, to);
    }

    void wheel()
    {
        const auto [widget, at] = place();
        const int turns = (below(9) - 4) * 120;
        say(u"wheel %1 on %2"_s.arg(turns).arg(nameOf(widget)));
        QWheelEvent event(at, widget->mapToGlobal(QPointF(at)), {}, QPoint(0, turns), Qt::NoButton,
            modifier(), Qt::NoScrollPhase, false);
        QCoreApplication::sendEvent(widget, &event);
    }

    QWidget* focus()
    {
        QWidget* top = window();
        QWidget* widget = QApplication::focusWidget();
        return widget != nullptr && widget->isVisible() && widget->window() == top ? widget : top;
    }

    void key()
    {
        constexpr std::array kKeys{Qt::Key_Tab, Qt::Key_Backtab, Qt::Key_Up, Qt::Key_Down, Qt::Key_Left,
            Qt::Key_Right, Qt::Key_Home, Qt::Key_End, Qt::Key_PageUp, Qt::Key_PageDown, Qt::Key_Return,
            Qt::Key_Escape, Qt::Key_Space, Qt::Key_F, Qt::Key_G, Qt::Key_P, Qt::Key_N, Qt::Key_M, Qt::Key_W,
            Qt::Key_A, Qt::Key_S, Qt::Key_D, Qt::Key_1, Qt::Key_2, Qt::Key_3, Qt::Key_4, Qt::Key_5, Qt::Key_6,
            Qt::Key_7, Qt::Key_8, Qt::Key_9, Qt::Key_F1, Qt::Key_F3, Qt::Key_F5, Qt::Key_F6, Qt::Key_F7,
            Qt::Key_Plus, Qt::Key_Minus, Qt::Key_BracketLeft, Qt::Key_BracketRight, Qt::Key_Comma,
            Qt::Key_Period, Qt::Key_Question, Qt::Key_Delete, Qt::Key_Backspace, Qt::Key_C};
        QWidget* widget = focus();
        const Qt::Key pressed = oneOf(kKeys);
        const auto with = modifier();
        say(u"key %1 %2 on %3"_s.arg(
            QKeySequence(QKeyCombination(with, pressed)).toString(), QString(), nameOf(widget)));
        QTest::keyClick(widget, pressed, with);
    }

    void type()
    {
        static const QStringList kTexts{u"rank:1"_s, u"weight"_s, u"has:nan"_s, u"layer:0..3 size>1K"_s,
            u"/bias$/"_s, u"*norm*"_s, u"dtype:bf16"_s, u"((("_s, u"layer 1"_s, u"dp1"_s, u"[3,5]"_s, u"99"_s,
            u">settings"_s, u"\u05d0\u05d1 \U0001f600"_s, u"-1"_s, u"0"_s};
        QWidget* widget = focus();
        const QString text = oneOf(kTexts);
        say(u"type %1 into %2"_s.arg(text, nameOf(widget)));
        if (auto* line = qobject_cast<QLineEdit*>(widget); line != nullptr && !line->isReadOnly()) {
            if (below(2) == 0)
                line->selectAll();
            line->insert(text); // QTest::keyClicks() takes Latin-1 alone
            return;
        }
        for (const QChar letter : text) {
            if (letter.unicode() < 127)
                QTest::keyClick(focus(), letter.toLatin1());
        }
    }

    void trigger()
    {
        QList<QAction*> all;
        for (QAction* action : m_ui.window().findChildren<QAction*>()) {
            if (action->isEnabled() && action->isVisible() && !action->isSeparator()
                && action->menu() == nullptr)
                all.push_back(action);
        }
        if (all.isEmpty() || QApplication::activeModalWidget() != nullptr)
            return;
        QAction* action = oneOf(all);
        say(u"action %1"_s.arg(action->text()));
        action->trigger();
    }

    void resize()
    {
        const QSize room = m_ui.window().screen()->availableSize();
        const QSize least(900, 600);
        const QSize size(least.width() + below(std::max(1, room.width() - least.width())),
            least.height() + below(std::max(1, room.height() - least.height())));
        say(u"size %1x%2"_s.arg(size.width()).arg(size.height()));
        m_ui.window().resize(below(2) == 0 ? room : size);
    }

    void open()
    {
        const QString path = oneOf(m_paths);
        say(u"open %1"_s.arg(path));
        m_ui.window().openPath(path);
    }

    /// Nothing is chosen in the dialogs of files, which can rename and delete files of others. A user with
    /// twenty windows closes some.
    void tidy()
    {
        QList<QWidget*> others;
        for (QWidget* window : QApplication::topLevelWidgets()) {
            if (auto* files = qobject_cast<QFileDialog*>(window))
                files->reject();
            else if (window != &m_ui.window() && window->isVisible() && window->isWindow()
                && window->windowType() != Qt::Popup && window->windowType() != Qt::ToolTip)
                others.push_back(window);
        }
        for (qsizetype i = 4; i < others.size(); ++i)
            others[i]->close();
        if (!m_ui.window().isVisible())
            m_ui.window().show();
        if (m_ui.window().isMinimized())
            m_ui.window().showNormal();
    }

    WindowFixture& m_ui;
    QStringList m_paths;
    QRandomGenerator m_random;
    QFile m_log;
    QTimer m_nested;
};

} // namespace

class TestRandomUser : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QApplication::setStyle(new AppStyle); }

    void everythingGoesOn()
    {
        const QTemporaryDir folder; // jobs write next to what they read
        QStringList paths;
        for (const char* name : {"zero2-w2", "zero3-w4", "pipeline-w4", "zero2-universal-w2", "stage0-fp32"})
            paths.push_back(copiedSample(name, folder.filePath(QString::fromLatin1(name))));
        QVERIFY(std::filesystem::remove(
            paths[1].toStdString() + "/global_step5/bf16_zero_pp_rank_2_mp_rank_00_optim_states.pt"));
        paths.push_back(folder.path()); // a folder of runs
        paths.push_back(folder.filePath(u"nothing"_s));

        QApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
        const NoPrograms noPrograms;
        WindowFixture ui;
        ui.window().setHeadlessProgram(u"/bin/true"_s);
        if (QGuiApplication::platformName() != "offscreen"_L1)
            ui.window().resize(ui.window().screen()->availableSize());
        QVERIFY(ui.open(paths[0]));
        for (int step = 0; step < numberOf("SHARDSCOPE_RANDOM_TEXT", 0); ++step)
            QTest::keyClick(&ui.window(), Qt::Key_Plus, Qt::ControlModifier);

        RandomUser user(ui, paths, static_cast<quint32>(numberOf("SHARDSCOPE_RANDOM_SEED", 1)));
        const int actions = numberOf("SHARDSCOPE_RANDOM_ACTIONS", 400);
        const QString pictures = qEnvironmentVariable("SHARDSCOPE_RANDOM_PICTURES");
        qint64 longest = 0;
        for (int done = 1; done <= actions; ++done) {
            QElapsedTimer timer;
            timer.start();
            user.act();
            longest = std::max(longest, timer.elapsed());
            if (done % 200 != 0 && done != actions)
                continue;
            QVERIFY2(ui.settle(), qPrintable(busyText(ui)));
            if (!pictures.isEmpty() && done % 1000 == 0)
                QVERIFY(ui.window().grab().save(u"%1/%2.png"_s.arg(pictures).arg(done, 6, 10, QChar(u'0'))));
        }
        qInfo("%d actions, the longest took %lld ms", actions, static_cast<long long>(longest));
        user.calm();
        // The window still works.
        QVERIFY(ui.open(paths[0]));
        QVERIFY(ui.checkpoint() != nullptr);
        QCOMPARE(QString::fromStdString(ui.checkpoint()->runFolder.string()),
            QFileInfo(paths[0]).canonicalFilePath());
    }
};

SHARDSCOPE_UI_TEST(TestRandomUser, WithDisplay)
#include "tst_random_user.moc"
