package proof

// Place is a member of a group on a node.
type Place struct {
	Pod  string `json:"pod"`  // namespace/name
	Node string `json:"node"` // its node
}

// Absence says why a group has no place inside a set of nodes: the cluster for the root, a domain of the parent otherwise.
type Absence struct {
	// Group is the kind, the namespace and the name: "podgroup/default/train".
	Group string `json:"group"`
	// Key is the topology key of the group; "" for none.
	Key string `json:"key,omitempty"`
	// Domains has each domain where the group could go, by name: one without a name if there is no Key. None: no node has the Key.
	Domains []Domain `json:"domains"`
}

// Domain says why one domain does not take the group. One of [Room], Children and Exhausted is set.
type Domain struct {
	Name  string `json:"name"`           // the value of the Key
	Nodes int    `json:"nodes"`          // in the domain
	Room  *Room  `json:"room,omitempty"` // why too few members fit; nil: Children or Exhausted say it
	// Children have no place in the domain; the other children are too few.
	Children []Absence `json:"children,omitempty"`
	// Exhausted: every way was tried. It stands at the root alone, because members of siblings can help a child.
	Exhausted bool `json:"exhausted,omitempty"`
}

// Kind is how a [Room] counts.
type Kind string

// The kinds of a [Room].
const (
	ByResource Kind = "resource" // the sum of what is free
	ByMembers  Kind = "members"  // members that at least one node takes
	ByNodes    Kind = "nodes"    // what each node takes
	Apart      Kind = "apart"    // anti-affinity: one member for each value of a label
	Spread     Kind = "spread"   // spread constraint: so many for each value of a label
)

// Room counts the members that a domain takes at most: fewer than Need.
type Room struct {
	Kind Kind `json:"kind"` // how the room is counted
	// Need is how many members must come to the domain at least.
	Need int `json:"need"`
	// Of leaves only members that ask for much in the count; nil: all count.
	Of       *Amount `json:"of,omitempty"`
	Resource string  `json:"resource,omitempty"` // that is counted, with ByResource; Free and Least are then set too
	Free     int64   `json:"free,omitempty"`     // what the nodes have
	Least    int64   `json:"least,omitempty"`    // what the Need smallest members ask for
	// Key is the label of Apart and Spread.
	Key string `json:"key,omitempty"`
	// Most is the sum of Parts: members by name, nodes by name, or values of Key. Nodes without the Key of Apart are parts of their own.
	Most  int    `json:"most"`
	Parts []Part `json:"parts,omitempty"` // of which Most is the sum
}

// Amount is a request of at least so much.
type Amount struct {
	Resource string `json:"resource"` // name of the resource
	AtLeast  int64  `json:"atLeast"`  // members that ask for at least this much count
}

// Part takes so many members at most. A part that takes none is left out.
type Part struct {
	Name string `json:"name"`
	Most int    `json:"most"` // how many members fit
}
