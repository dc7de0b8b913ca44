// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QCoreApplication>
#include <QTest>

#include <memory>

/// All tests of the window are one program: `test_ui NAME [argument of Qt Test...]` runs one of them in a
/// process of its own, with the kind of application that it needs.
namespace shardscope {

enum class UiApplication {
    None, ///< no application object
    CoreOnly, ///< QCoreApplication: an event loop and no display
    WithDisplay ///< QApplication
};

/// Adds a test when the program starts. Used through SHARDSCOPE_UI_TEST.
class UiTestEntry
{
public:
    using Make = std::unique_ptr<QObject> (*)();
    UiTestEntry(const char* name, UiApplication application, Make make);
};

} // namespace shardscope

/// One line at the end of a tst_*.cpp, before the include of its .moc.
#define SHARDSCOPE_UI_TEST(Class, kind)                                                                      \
    static const shardscope::UiTestEntry k##Class##Entry(#Class, shardscope::UiApplication::kind,            \
        []() -> std::unique_ptr<QObject> { return std::make_unique<Class>(); });
