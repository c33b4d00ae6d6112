"""Functions of XML and HTML: reading, paths, attributes. Their tree is in shared/xml_tree.py."""

from typing import Any

from server.template.registry import function
from server.template.run import Rendering
from server.template.shared.xml_paths import Found, select
from server.template.shared.xml_tree import Element, XmlNode, parse_html, parse_xml, written
from server.template.values import pairs, printed, whole


@function("xml_decode")
def xml_decode(run: Rendering, text: Any, namespaces: Any = None, mode: Any = None) -> Any:
    """The root of a document; false for what is no XML. namespaces: {prefix: URI} for paths. mode: `html` reads a page
    as browsers do. Nothing outside of the text is read."""
    found = parse_html(run, text) if printed(mode).lower() == "html" else parse_xml(run, text)
    if found is None:
        return False
    for prefix, uri in pairs(namespaces):
        found.element.prefixes[str(prefix)] = printed(uri)
    return found


@function("xml_encode")
def xml_encode(run: Rendering, node: Any) -> Any:
    """The XML of a node; false for anything else."""
    return written(run, node.element) if isinstance(node, XmlNode) else False


@function("xml_tag")
def xml_tag(run: Rendering, node: Any) -> Any:
    """The name of a node without its prefix; false for anything else."""
    return node.element.local if isinstance(node, XmlNode) else False


@function("xml_attr")
def xml_attr(run: Rendering, node: Any, name: Any, default: Any = None) -> Any:
    """One attribute of a node; false for anything else."""
    return node.element.attributes.get(printed(name), default) if isinstance(node, XmlNode) else False


@function("xml_attrs")
def xml_attrs(run: Rendering, node: Any) -> Any:
    """The attributes of a node as a map; false for anything else."""
    if not isinstance(node, XmlNode):
        return False
    run.budget.made(len(node.element.attributes))
    return dict(node.element.attributes)


@function("xml_xpath")
def xml_xpath(run: Rendering, node: Any, path: Any, index: Any = None) -> Any:
    """The nodes at a path, or the one at a position, null for none; false for no node. Raises TemplateFailed for a path
    that cannot be used."""
    if not isinstance(node, XmlNode):
        return False
    found = [_shown(each) for each in select(run, node.element, printed(path))]
    if index is None:
        return found
    place = whole(index, -1)
    return found[place] if 0 <= place < len(found) else None


def _shown(found: Found) -> Any:
    return found.node() if isinstance(found, Element) else found


@function("xml_xpath_ns")
def xml_xpath_ns(run: Rendering, node: Any, prefix: Any, uri: Any) -> Any:
    """The node, whose paths know this prefix from now on; false for anything else."""
    if not isinstance(node, XmlNode):
        return False
    node.element.prefixes[printed(prefix)] = printed(uri)
    return node
