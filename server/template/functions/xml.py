"""Functions of XML and HTML: parsing, paths, attributes. shared/xml_tree.py has the tree."""

from typing import Any

from server.template.registry import function
from server.template.run import Rendering
from server.template.shared.xml_paths import Found, select
from server.template.shared.xml_tree import Element, XmlNode, parse_html, parse_xml, written
from server.template.values import pairs, printed, whole


@function("xml_decode")
def xml_decode(run: Rendering, text: Any, namespaces: Any = None, mode: Any = None) -> Any:
    """The root of a document; false for invalid XML. namespaces: {prefix: URI} for paths. mode: `html` reads a page as
    browsers do. External entities and files are never read."""
    root = parse_html(run, text) if printed(mode).lower() == "html" else parse_xml(run, text)
    if root is None:
        return False
    for prefix, uri in pairs(namespaces):
        root.element.prefixes[str(prefix)] = printed(uri)
    return root


@function("xml_encode")
def xml_encode(run: Rendering, node: Any) -> Any:
    """The XML of a node; false for any other value."""
    return written(run, node.element) if isinstance(node, XmlNode) else False


@function("xml_tag")
def xml_tag(run: Rendering, node: Any) -> Any:
    """The name of a node without its prefix; false for any other value."""
    return node.element.local if isinstance(node, XmlNode) else False


@function("xml_attr")
def xml_attr(run: Rendering, node: Any, name: Any, default: Any = None) -> Any:
    """An attribute of a node; false for any other value."""
    return node.element.attributes.get(printed(name), default) if isinstance(node, XmlNode) else False


@function("xml_attrs")
def xml_attrs(run: Rendering, node: Any) -> Any:
    """The attributes of a node as a map; false for any other value."""
    if not isinstance(node, XmlNode):
        return False
    run.budget.entries(len(node.element.attributes))
    return dict(node.element.attributes)


@function("xml_xpath")
def xml_xpath(run: Rendering, node: Any, path: Any, index: Any = None) -> Any:
    """The nodes at a path, or the one at a position, null if it does not exist; false if the value is not a node.
    Raises TemplateFailed for an unsupported path."""
    if not isinstance(node, XmlNode):
        return False
    results = [_shown(each) for each in select(run, node.element, printed(path))]
    if index is None:
        return results
    place = whole(index, -1)
    return results[place] if 0 <= place < len(results) else None


def _shown(match: Found) -> Any:
    return match.node() if isinstance(match, Element) else match


@function("xml_xpath_ns")
def xml_xpath_ns(run: Rendering, node: Any, prefix: Any, uri: Any) -> Any:
    """The node, with this prefix available to paths from now on; false for any other value."""
    if not isinstance(node, XmlNode):
        return False
    node.element.prefixes[printed(prefix)] = printed(uri)
    return node
