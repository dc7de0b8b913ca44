// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_accessible.h"

#include "ui/layoutmap/geometry/map_navigation.h"
#include "ui/layoutmap/geometry/map_text.h"
#include "ui/layoutmap/map_canvas.h"

#include <QAccessible>
#include <QAccessibleWidget>

#include <QPointer>

#include <algorithm>
#include <vector>

namespace shardscope::ui {

namespace {

/// A rectangle of the map on the screen; what is outside the canvas is cut off.
QRect onScreen(const MapCanvas& canvas, const MapBlock& block)
{
    const MapViewport& viewport = canvas.viewport();
    const ContentRect rect = viewport.layout().rectOf(block);
    const QSize size = viewport.size();
    const auto inView = [](int64_t position, int length) {
        return static_cast<int>(std::clamp<int64_t>(position, 0, length));
    };
    const QRect box(
        QPoint(inView(rect.x - viewport.x(), size.width()), inView(rect.y - viewport.y(), size.height())),
        QPoint(inView(rect.x + rect.width - viewport.x(), size.width()) - 1,
            inView(rect.y + rect.height - viewport.y(), size.height()) - 1));
    const double ratio = viewport.pixelRatio();
    const QRect logical(static_cast<int>(box.x() / ratio), static_cast<int>(box.y() / ratio),
        static_cast<int>(box.width() / ratio), static_cast<int>(box.height() / ratio));
    return logical.translated(canvas.mapToGlobal(QPoint(0, 0)));
}

/// One thing on the map. What it is at the moment is asked from the canvas, so that it is never out of date.
class MapThing : public QAccessibleInterface
{
public:
    explicit MapThing(MapCanvas* canvas)
        : m_canvas(canvas)
    {
    }

    [[nodiscard]] bool isValid() const override
    {
        return m_canvas != nullptr && m_canvas->stack() != nullptr;
    }
    [[nodiscard]] QObject* object() const override { return nullptr; }
    [[nodiscard]] QWindow* window() const override { return m_canvas->window()->windowHandle(); }
    [[nodiscard]] QAccessibleInterface* parent() const override
    {
        return QAccessible::queryAccessibleInterface(m_canvas);
    }
    [[nodiscard]] QAccessibleInterface* child(int) const override { return nullptr; }
    [[nodiscard]] QAccessibleInterface* childAt(int, int) const override { return nullptr; }
    [[nodiscard]] int childCount() const override { return 0; }
    [[nodiscard]] int indexOfChild(const QAccessibleInterface*) const override { return -1; }
    void setText(QAccessible::Text, const QString&) override { }

protected:
    [[nodiscard]] const MapCanvas& canvas() const { return *m_canvas; }

private:
    QPointer<MapCanvas> m_canvas;
};

class SectionThing : public MapThing
{
public:
    SectionThing(MapCanvas* canvas, uint32_t section)
        : MapThing(canvas)
        , m_section(section)
    {
    }

    [[nodiscard]] uint32_t section() const { return m_section; }
    [[nodiscard]] bool isValid() const override
    {
        return MapThing::isValid() && m_section < canvas().stack()->count();
    }
    [[nodiscard]] QRect rect() const override
    {
        return isValid() ? onScreen(canvas(), canvas().viewport().visible(m_section)) : QRect();
    }
    [[nodiscard]] QString text(QAccessible::Text kind) const override
    {
        if (!isValid()) {
            return {};
        }
        const MapSource& source = canvas().stack()->source(m_section);
        if (kind == QAccessible::Name) {
            return MapText::axisName(source, canvas().viewport().layout());
        }
        if (kind == QAccessible::Description) {
            return MapText::sectionFacts(source);
        }
        return kind == QAccessible::Value ? MapText::shown(source, canvas().viewport().visible(m_section))
                                          : QString();
    }
    [[nodiscard]] QAccessible::Role role() const override { return QAccessible::Grouping; }
    [[nodiscard]] QAccessible::State state() const override
    {
        QAccessible::State state;
        const bool folded = isValid() && canvas().viewport().layout().isFolded(m_section);
        state.expandable = true;
        state.expanded = !folded;
        state.collapsed = folded;
        return state;
    }

private:
    uint32_t m_section;
};

class FocusedThing : public MapThing
{
public:
    using MapThing::MapThing;

    [[nodiscard]] bool isValid() const override
    {
        return MapThing::isValid() && canvas().marks().pinned
            && canvas().marks().pinned->section < canvas().stack()->count();
    }
    [[nodiscard]] QRect rect() const override
    {
        if (!isValid()) {
            return {};
        }
        const MapSource::Point place = *canvas().marks().pinned;
        return onScreen(canvas(), cellBlock(canvas().stack()->sourceAt(place), place));
    }
    [[nodiscard]] QString text(QAccessible::Text kind) const override
    {
        if (!isValid() || kind != QAccessible::Name) {
            return {};
        }
        const MapSource::Point place = *canvas().marks().pinned;
        return MapText::sentence(canvas().stack()->sourceAt(place), place, canvas().shownDifferences());
    }
    [[nodiscard]] QAccessible::Role role() const override { return QAccessible::Cell; }
    [[nodiscard]] QAccessible::State state() const override
    {
        QAccessible::State state;
        state.focusable = true;
        state.focused = canvas().hasFocus();
        state.invisible = !isValid();
        return state;
    }
};

class SelectedThingOnMap : public MapThing
{
public:
    using MapThing::MapThing;

    [[nodiscard]] bool isValid() const override
    {
        return MapThing::isValid() && !canvas().viewport().selected().isEmpty();
    }
    [[nodiscard]] QRect rect() const override
    {
        return isValid() ? onScreen(canvas(), canvas().viewport().selected()) : QRect();
    }
    [[nodiscard]] QString text(QAccessible::Text kind) const override
    {
        if (!isValid()) {
            return {};
        }
        const MapBlock& block = canvas().viewport().selected();
        const MapSource& source = canvas().stack()->source(block.section);
        return kind == QAccessible::Name ? MapText::shown(source, block)
            : kind == QAccessible::Value ? canvas().marks().sumText
                                         : QString();
    }
    [[nodiscard]] QAccessible::Role role() const override { return QAccessible::Cell; }
    [[nodiscard]] QAccessible::State state() const override
    {
        QAccessible::State state;
        state.selectable = true;
        state.selected = isValid();
        state.invisible = !isValid();
        return state;
    }
};

/// The canvas. Its children: the sections in the order of the map, then the focused cell and the selected
/// range, which are there only while there is one.
class MapCanvasAccessible : public QAccessibleWidget
{
public:
    explicit MapCanvasAccessible(MapCanvas* canvas)
        : QAccessibleWidget(canvas, QAccessible::Chart)
    {
    }
    ~MapCanvasAccessible() override
    {
        forget(m_sections);
        forget({m_focused, m_selected});
    }
    Q_DISABLE_COPY_MOVE(MapCanvasAccessible)

    [[nodiscard]] int childCount() const override
    {
        return sections() + (isFocused() ? 1 : 0) + (isSelected() ? 1 : 0);
    }
    [[nodiscard]] QAccessibleInterface* child(int index) const override
    {
        if (index < 0 || index >= childCount()) {
            return nullptr;
        }
        if (index < sections()) {
            return section(index);
        }
        return index == sections() && isFocused() ? thing<FocusedThing>(m_focused)
                                                  : thing<SelectedThingOnMap>(m_selected);
    }
    [[nodiscard]] int indexOfChild(const QAccessibleInterface* child) const override
    {
        for (int i = 0; i < childCount(); ++i) {
            if (this->child(i) == child) {
                return i;
            }
        }
        return -1;
    }
    [[nodiscard]] QAccessibleInterface* childAt(int x, int y) const override
    {
        for (int i = childCount(); i-- > 0;) { // what is in front comes last
            if (child(i)->rect().contains(x, y)) {
                return child(i);
            }
        }
        return nullptr;
    }
    [[nodiscard]] QAccessibleInterface* focusChild() const override
    {
        return canvas()->hasFocus() && isFocused() ? thing<FocusedThing>(m_focused) : nullptr;
    }
    [[nodiscard]] QString text(QAccessible::Text kind) const override
    {
        if (kind == QAccessible::Value && isFocused()) {
            return thing<FocusedThing>(m_focused)->text(QAccessible::Name);
        }
        if (kind == QAccessible::Description && canvas()->stack() != nullptr) {
            return MapText::whole(*canvas()->stack());
        }
        return QAccessibleWidget::text(kind);
    }

private:
    [[nodiscard]] MapCanvas* canvas() const { return static_cast<MapCanvas*>(widget()); }
    [[nodiscard]] int sections() const
    {
        return canvas()->stack() != nullptr ? static_cast<int>(canvas()->stack()->count()) : 0;
    }
    [[nodiscard]] bool isFocused() const { return sections() > 0 && canvas()->marks().pinned.has_value(); }
    [[nodiscard]] bool isSelected() const
    {
        return sections() > 0 && !canvas()->viewport().selected().isEmpty();
    }
    template <class Thing>
    [[nodiscard]] QAccessibleInterface* thing(QAccessible::Id& id) const
    {
        if (id == 0) {
            id = QAccessible::registerAccessibleInterface(new Thing(canvas()));
        }
        return QAccessible::accessibleInterface(id);
    }
    [[nodiscard]] QAccessibleInterface* section(int index) const
    {
        for (int i = static_cast<int>(m_sections.size()); i <= index; ++i) {
            m_sections.push_back(QAccessible::registerAccessibleInterface(
                new SectionThing(canvas(), static_cast<uint32_t>(i))));
        }
        return QAccessible::accessibleInterface(m_sections[static_cast<size_t>(index)]);
    }
    static void forget(const std::vector<QAccessible::Id>& things)
    {
        for (const QAccessible::Id id : things) {
            if (id != 0) {
                QAccessible::deleteAccessibleInterface(id);
            }
        }
    }

    mutable std::vector<QAccessible::Id> m_sections; ///< made when they are asked for
    mutable QAccessible::Id m_focused = 0;
    mutable QAccessible::Id m_selected = 0;
};

QAccessibleInterface* makeAccessible(const QString& /*className*/, QObject* object)
{
    auto* canvas = qobject_cast<MapCanvas*>(object);
    return canvas == nullptr ? nullptr : new MapCanvasAccessible(canvas);
}

} // namespace

void installMapAccessible()
{
    static const bool installed = [] {
        QAccessible::installFactory(makeAccessible);
        return true;
    }();
    static_cast<void>(installed);
}

} // namespace shardscope::ui
