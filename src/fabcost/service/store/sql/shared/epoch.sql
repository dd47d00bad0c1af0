SELECT epoch, stamp FROM server
