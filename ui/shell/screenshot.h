// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSize>
#include <QString>

namespace shardscope::ui {

class MainWindow;

struct ScreenshotWish {
    QString file; ///< PNG
    QString page; ///< a page's name, or "reshard", "export", "manual"; empty: what is in front
    QString path; ///< to open first; empty: the start page
    QString against; ///< to compare it with
    QString select; ///< an address to go to
    QSize size{1440, 900}; ///< of the picture, in logical pixels
};

/// Waits until everything that is read in the background is on screen, then saves a picture of the window.
/// False, with the reason on stderr, when the path does not open, the size is too small for the page, or the
/// file cannot be written.
bool takeScreenshot(MainWindow& window, const ScreenshotWish& wish);

} // namespace shardscope::ui
