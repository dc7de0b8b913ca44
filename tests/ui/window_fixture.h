// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/skeleton/skeleton_files.h"
#include "tests/support/places.h"
#include "ui/jobs/latest_only.h"
#include "ui/shell/main_window.h"

#include <QApplication>
#include <QTemporaryDir>
#include <QTest>

#include <filesystem>
#include <memory>

namespace shardscope::ui {

/// A window with its own settings, with input as from a user.
class WindowFixture
{
public:
    explicit WindowFixture(ThemeMode mode = ThemeMode::Light, io::FileSystem& files = realFilesAndSkeletons())
    {
        m_theme.setMode(mode);
        m_settings = std::make_unique<Settings>(m_folder.path());
        m_window = std::make_unique<MainWindow>(files, m_theme, *m_settings);
        m_window->resize(1440, 900);
        m_window->show();
        m_window->activateWindow();
        QApplication::setActiveWindow(m_window.get());
    }

    /// Cancelled work may still use the files, which belong to the test.
    ~WindowFixture()
    {
        m_window.reset();
        LatestOnly::waitForAll();
    }
    WindowFixture(const WindowFixture&) = delete;
    WindowFixture& operator=(const WindowFixture&) = delete;

    [[nodiscard]] MainWindow& window() { return *m_window; }
    [[nodiscard]] Settings& settings() { return *m_settings; }
    [[nodiscard]] Theme& theme() { return m_theme; }
    [[nodiscard]] const CheckpointPtr& checkpoint() { return m_window->session().checkpoint(); }
    [[nodiscard]] QString folder(const QString& name) const { return m_folder.filePath(name); }

    template <class Widget>
    [[nodiscard]] Widget* find(const char* name)
    {
        return m_window->findChild<Widget*>(QString::fromLatin1(name));
    }

    /// All background work has finished.
    bool settle()
    {
        // Twice, because a result may start more work.
        for (int calm = 0; calm < 2; calm = m_window->isSettled() ? calm + 1 : 0) {
            if (!QTest::qWaitFor([this] { return m_window->isSettled(); }, 30'000))
                return false;
            QCoreApplication::processEvents();
        }
        return true;
    }

    bool open(const QString& path)
    {
        m_window->openPath(path);
        return settle();
    }

private:
    QTemporaryDir m_folder;
    Theme m_theme;
    std::unique_ptr<Settings> m_settings;
    std::unique_ptr<MainWindow> m_window;
};

inline QString samplePath(const char* name)
{
    return QString::fromStdString(sourceFolder() + "/tests/data/samples/") + QString::fromLatin1(name);
}

/// A copy of a sample that may be broken.
inline QString copiedSample(const char* name, const QString& to)
{
    std::filesystem::copy(
        samplePath(name).toStdString(), to.toStdString(), std::filesystem::copy_options::recursive);
    return to;
}

} // namespace shardscope::ui
