// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/session/session.h"

#include <QSize>
#include <QString>
#include <QStringList>

namespace shardscope::ui {

class MainWindow;

struct ScreenshotWish {
    QString file; ///< PNG
    QString page; ///< one of screenshotPages(); empty: what is in front
    OpenedPlace place{}; ///< to open first; without a path: the start page
    QString against; ///< to compare it with
    QString select; ///< an address to go to
    QSize size{1440, 900}; ///< of the picture, in logical pixels
};

/// The names of all pages.
[[nodiscard]] QStringList pageNames();
/// The same, then those of the dialogs and windows that have a picture, too.
[[nodiscard]] QStringList screenshotPages();

/// Waits until everything that is read in the background is on screen, then saves a picture of the window,
/// with the size of text of the settings. False, with the reason on stderr, when the path does not open, the
/// size is too small for the page, or the file cannot be written.
bool takeScreenshot(MainWindow& window, const ScreenshotWish& wish);

} // namespace shardscope::ui
