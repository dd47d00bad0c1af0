SELECT epoch FROM server
