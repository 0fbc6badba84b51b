package anonymise

// rule returns the rule of a field, which the fields around it may change.
func (w *walker) rule(t Tree, parent, field string) rule {
	if w.kind == "Kubelet" && parent != "metadata" {
		if r, ok := kubeletRules[field]; ok {
			return r
		}
		if field == "name" {
			return kubeletNames[parent]
		}
	}
	switch parent {
	case "annotations":
		return annotations[field]
	case "disruptedPods":
		return leaveOut
	}
	switch field {
	case "name":
		return w.nameRule(t, parent)
	case "selector":
		if w.kind == "Service" || w.kind == "ReplicationController" && !w.claim {
			return labelMap
		}
	case "nodeSelector": // of slices and allocations it is a selector with terms
		if w.kind == "ResourceSlice" || parent == "allocation" {
			return walkOn
		}
	case "resourceVersion", "driver":
		return keep
	case "key":
		if parent == "topology" {
			return labelKey
		}
	case "claims":
		return walkOn
	case "pool":
		if _, is := t[field].(Tree); is {
			return walkOn
		}
	case "volumes": // of a VolumeAttachment or a status there are none
		return walkOn
	case "status":
		if _, text := t[field].(string); text { // of a condition
			return keep
		}
	case "type":
		if parent == "limits" || parent == "strategy" || parent == "updateStrategy" {
			return keep
		}
		return conditionName
	case "hostIP":
		if parent == "status" {
			return leaveOut
		}
	case "config":
		if w.kind == "Node" {
			return leaveOut
		}
	case "capacity":
		return keep
	case "image":
		if parent == "volumes" {
			return leaveOut
		}
		if parent == "rbd" {
			return nameOf
		}
	case "default":
		return keep
	}
	return rules[field]
}

// nameRule returns the rule of the field name by what has the name.
func (w *walker) nameRule(t Tree, parent string) rule {
	switch parent {
	case "metadata":
		if w.made {
			return volumeName
		}
		switch w.kind {
		case "Node", "CSINode", "Kubelet":
			return nodeName
		case "Namespace":
			return nsName
		case "CSIDriver", "DeviceClass":
			return keep
		}
		return nameOf
	case "ownerReferences", "claimRef", "dataSource", "dataSourceRef":
		if t["kind"] == "Node" {
			return nodeName
		}
		return nameOf
	case "volumes", "resourceClaims", "claims", "resourceClaimStatuses":
		return volumeName
	case "drivers":
		return keep
	case "pool":
		return deviceName
	case "securityContext", "os":
		return keep
	case "schedulingGates":
		return nameOf
	}
	return nameOf // of containers, references, and objects in templates
}
